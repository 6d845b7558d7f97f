//! A timeline as a picture of rows, and its entries below.

use super::address::{Whose, whose_route};
use super::answers::{parameters, reference, typed};
use super::args::{OutputFormat, TimelineArgs};
use super::client::Client;
use super::error::CliError;
use super::line::{Style, moment};
use super::output::{Paint, drawing, width, write};
use super::query::Add;
use super::stderr::note;
use super::table::{Cell, Table};
use crate::format::{
    Places, age, clock_time, entry_name, entry_subject, entry_words, grouped, lasted, level, several, sign,
    visible,
};
use strandline_model::{Health, Timestamp, Uid};
use strandline_protocol::{Bucket, Entry, Timeline, TimelinePage};

/// Letters that are before the rows.
const MARGIN: usize = 13;

/// The width where there is no terminal.
const COLUMNS: usize = 80;

/// How high a column can be.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What a row counts.
type Count = fn(&Bucket) -> u64;

/// Asks for a timeline and draws it.
pub(super) async fn timeline(args: &TimelineArgs) -> Result<(), CliError> {
    let whose = (args.resource.as_ref(), args.environment.as_ref());
    let Whose { subject, path, cluster } = whose_route(whose, &args.place, &args.server, "timeline").await?;
    let what = format!("reading the timeline of {subject}");
    let people = matches!(args.output.output, OutputFormat::Table | OutputFormat::Wide);
    let query = parameters(&args.server)
        .add("cluster", cluster.as_slice())
        .add("below", args.below.then_some("true").as_slice())
        .add_of("--since", "since", args.since.as_slice())
        .add("lane", &args.lane)
        .add("order", args.order.as_slice())
        .add("limit", &[args.limit])
        .add("buckets", people.then(|| columns() - MARGIN).as_slice());
    let value = Client::reading(&args.server)?.get(&what, &path, &query).await?;
    if let Some(text) = drawing(&args.output, &value) {
        return write(&text?);
    }
    let page: TimelinePage = typed(&what, value)?;
    if args.output.output == OutputFormat::Name {
        let own = args.environment.as_ref().map_or(subject, |id| format!("environment/{id}"));
        return write(&names(&page.timeline.entries, &own));
    }
    let style = Style {
        paint: Paint::for_stdout(args.output.color),
        now: reference(&args.server, &page.metadata.snapshot),
        wide: args.output.output == OutputFormat::Wide,
    };
    write(&drawn(&subject, &page, style, !args.output.no_headers))?;
    // Scripts that read the table must not take this for a row of it.
    if page.metadata.next.is_some() {
        note!("… more entries not shown; raise --limit, or continue with the page token of -o json");
    }
    Ok(())
}

/// What each entry is about, where it is nothing else the `own` name of what the timeline is of.
fn names(entries: &[Entry], own: &str) -> String {
    let name = |entry: &Entry| visible(&entry_name(entry).unwrap_or_else(|| own.to_owned())).into_owned();
    entries.iter().map(|entry| name(entry) + "\n").collect()
}

/// The width of the terminal, within what can be read and asked for.
fn columns() -> usize {
    width().unwrap_or(COLUMNS).clamp(40, 240)
}

fn drawn(subject: &str, page: &TimelinePage, style: Style, headers: bool) -> String {
    let timeline = &page.timeline;
    let mut out = String::new();
    if headers {
        out.push_str(&format!(
            "{}  {} up to {}   {}\n{}",
            style.paint.bold(&visible(subject)),
            lasted(timeline.until.since(timeline.since)),
            clock_time(timeline.until),
            moment(&page.metadata.snapshot),
            style.unwatched(&page.metadata.snapshot)
        ));
        out.push_str(&picture(timeline, style.paint));
        out.push('\n');
    }
    if !timeline.entries.is_empty() {
        out.push_str(&table(&timeline.entries, style).render(style.paint, headers));
    }
    out
}

/// Rows one below the other on one axis; rows of which nothing is to be seen are left out.
fn picture(timeline: &Timeline, paint: Paint) -> String {
    let buckets = &timeline.buckets;
    let mut out = row("health", &buckets.iter().map(|one| health(one, paint)).collect::<String>(), "");
    let counts: [(&str, Count, Option<Health>); 3] = [
        ("changes", |one| one.tally.changes, None),
        ("warnings", |one| one.tally.warnings, Some(Health::Degraded)),
        ("deployments", |one| one.tally.deployments, Some(Health::Progressing)),
    ];
    for (name, count, colour) in counts {
        let (most, all) = buckets.iter().map(count).fold((0, 0), |(most, all), n| (n.max(most), all + n));
        if all == 0 && name != "changes" {
            continue;
        }
        let bar = |one| BARS.get(usize::try_from(level(count(one), most, 8)).unwrap_or(0)).unwrap_or(&' ');
        let bars: String = buckets.iter().map(bar).collect();
        let bars = if colour.is_some() { paint.health(colour, &bars) } else { bars };
        out.push_str(&row(name, &bars, &format!("  {}", grouped(all))));
    }
    if buckets.iter().any(|one| !one.covered) {
        let gaps: String = buckets.iter().map(|one| if one.covered { ' ' } else { '░' }).collect();
        out.push_str(&row("not watched", &paint.health(Some(Health::Unknown), &gaps), ""));
    }
    out.push_str(&row("", &paint.dim(&ends(timeline.since, timeline.until, buckets.len())), ""));
    if let Some(below) = timeline.below {
        let left_out = match below.left_out {
            0 => String::new(),
            left_out => format!(", {} earlier ones not shown", grouped(left_out)),
        };
        let resources = usize::try_from(below.resources).unwrap_or(usize::MAX);
        out.push_str(&row("", &format!("{}{left_out}", several(resources, "resource")), ""));
    }
    out
}

fn row(name: &str, cells: &str, behind: &str) -> String {
    format!("{name:<MARGIN$}{cells}{behind}").trim_end().to_owned() + "\n"
}

fn health(bucket: &Bucket, paint: Paint) -> String {
    match bucket.health {
        Some(Health::Healthy) => paint.health(bucket.health, "─"),
        Some(_) => paint.health(bucket.health, sign(bucket.health)),
        None => " ".into(),
    }
}

/// When the rows begin and end.
fn ends(since: Timestamp, until: Timestamp, width: usize) -> String {
    let [since, until] = [since, until].map(clock_time);
    let (length, blank) = (since.chars().count() + until.chars().count(), "  ");
    if length + blank.len() > width {
        return format!("{since}{blank}{until}");
    }
    format!("{since}{}{until}", " ".repeat(width - length))
}

fn table(entries: &[Entry], style: Style) -> Table {
    let places = Places::of_entries(entries);
    let place = |entry: &Entry| {
        let resource = entry.resource.as_ref().map(|resource| &resource.key);
        resource.or(entry.event.as_ref().map(|event| &event.key)).and_then(|key| places.say(key, None))
    };
    let apart = entries.iter().any(|entry| place(entry).is_some());
    let mut headers = vec!["WHEN", "AGO", "WHAT", "OF"];
    headers.extend(apart.then_some("IN"));
    headers.push("SAYS");
    headers.extend(if style.wide { &["OFFSET", "UID"][..] } else { &[] });
    let row = |entry: &Entry| {
        let health = entry.health.as_ref().and_then(|health| health.after);
        let what = match entry.what.as_str() {
            "warned" => Cell::Standing(Some(Health::Degraded), entry.what.clone()),
            "became" => Cell::Standing(health, entry.what.clone()),
            "unwatched" => Cell::Standing(Some(Health::Unknown), entry.what.clone()),
            what => Cell::text(what),
        };
        let mut cells = vec![
            Cell::text(clock_time(entry.observed_at)),
            Cell::text(age(entry.observed_at, style.now)),
            what,
            Cell::text(entry_subject(entry)),
        ];
        cells.extend(apart.then(|| Cell::text(place(entry).unwrap_or_default())));
        cells.push(Cell::text(entry_words(entry)));
        if style.wide {
            let uid = entry.resource.as_ref().map(|resource| &resource.id);
            let uid = uid.or(entry.event.as_ref().map(|event| &event.uid));
            cells.extend([Cell::text(entry.offset.to_string()), Cell::text(uid.map_or("", Uid::as_str))]);
        }
        cells
    };
    Table::new(headers, entries.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::fixtures::{entry, timeline_page};
    use crate::format::tests::{NOON, folded_event};
    use strandline_model::Lane;

    const PLAIN: Style = Style { paint: Paint(false), now: NOON, wide: false };

    #[test]
    fn a_timeline_is_rows_on_one_axis_with_entries_below() {
        let mut page = timeline_page(60);
        page.timeline.entries = vec![entry(Lane::Health, "became")];
        let text = drawn("shop.web.production", &page, PLAIN, true);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "shop.web.production  60m up to 2026-11-20 12:00:00 UTC   offset 1234, 2026-11-20 12:00:00 UTC"
        );
        assert_eq!(lines[1], format!("health       {}✖✖", "─".repeat(58)));
        assert_eq!(lines[2], format!("changes      ▁{}█  9", " ".repeat(58)));
        assert_eq!(lines[3], format!("warnings     {}█  2", " ".repeat(59)));
        assert_eq!(lines[4], "not watched   ░");
        assert_eq!(
            lines[5].trim(),
            format!("2026-11-20 11:00:00 UTC{}2026-11-20 12:00:00 UTC", " ".repeat(14))
        );
        assert_eq!(lines[7], "WHEN                      AGO   WHAT     OF       SAYS");
        assert!(lines[8].starts_with("2026-11-20 12:00:00 UTC   0s    became   health   "), "{text}");
        assert!(!text.contains("deployments"), "nothing was deployed: {text}");
    }

    #[test]
    fn scripts_get_the_entries_alone() {
        let mut page = timeline_page(10);
        page.timeline.entries = vec![entry(Lane::Health, "became"); 3];
        let text = drawn("x", &page, Style { wide: true, ..PLAIN }, false);
        assert_eq!(text.lines().count(), 3, "{text}");
    }

    #[test]
    fn scripts_get_names_that_commands_take() {
        let said = Entry { event: Some(folded_event("Warning", "BackOff")), ..entry(Lane::Events, "warned") };
        let all = [said, entry(Lane::Health, "became")];
        assert_eq!(
            names(&all, "environment/shop.web.production"),
            "pod/web-0\nenvironment/shop.web.production\n"
        );
    }

    #[test]
    fn a_narrow_axis_still_tells_its_ends() {
        assert!(ends(NOON, NOON, 3).ends_with("UTC"));
    }
}
