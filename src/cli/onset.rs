//! When something became Degraded, or whatever it is, and what changed just before.

use super::address::{Whose, whose_route};
use super::answers::{parameters, reference, typed};
use super::args::{OnsetArgs, OutputFormat};
use super::client::Client;
use super::error::CliError;
use super::line::{Beside, Style, moment};
use super::output::{Paint, drawing, width, write};
use super::query::Add;
use crate::format::{
    Places, age, clock_time, difference_line, entry_name, entry_subject, entry_words, grouped, lasted,
    no_cause, sign, visible,
};
use strandline_model::{Health, Timestamp};
use strandline_protocol::{Answer, Onset, OnsetChange, Rank};

/// Where what is said of a change begins.
const MARGIN: usize = 29;

/// Asks for an onset and reports it.
pub(super) async fn onset(args: &OnsetArgs) -> Result<(), CliError> {
    let whose = (args.resource.as_ref(), args.environment.as_ref());
    let Whose { subject, path, cluster } = whose_route(whose, &args.place, &args.server, "onset").await?;
    let what = format!("finding likely causes for {subject}");
    let query = parameters(&args.server)
        .add("cluster", cluster.as_slice())
        .add("health", args.health.as_slice())
        .add("window", args.window.as_slice());
    let value = Client::reading(&args.server)?.get(&what, &path, &query).await?;
    if let Some(text) = drawing(&args.output, &value) {
        return write(&text?);
    }
    let answer: Answer<Onset> = typed(&what, value)?;
    if args.output.output == OutputFormat::Name {
        let names = answer.value.causes.iter().filter_map(|cause| entry_name(&cause.entry));
        return write(&names.map(|name| visible(&name).into_owned() + "\n").collect::<String>());
    }
    let style = Style {
        paint: Paint::for_stdout(args.output.color),
        now: reference(&args.server, &answer.metadata),
        wide: args.output.output == OutputFormat::Wide,
    };
    write(&render(&subject, &answer, Form::new(&answer, style, width()), args.effects))
}

/// How an onset is written.
#[derive(Clone, Copy)]
pub(super) struct Form {
    style: Style,
    places: Places,
    /// Letters on a line.
    width: usize,
}

impl Form {
    /// For a terminal of this width; what is wide, or read on none, is cut nowhere.
    pub(super) fn new(answer: &Answer<Onset>, style: Style, width: Option<usize>) -> Self {
        let width = width.filter(|_| !style.wide).unwrap_or(usize::MAX);
        Form { style, places: Places::of_onset(&answer.value), width }
    }
}

pub(super) fn render(subject: &str, answer: &Answer<Onset>, form: Form, effects: bool) -> String {
    let (onset, style) = (&answer.value, form.style);
    let mut out = heading(subject, answer, style);
    let mut above = None;
    for sick in &onset.sick {
        let place = form.places.say(&sick.key, above);
        let line = style.resource(sick, &Beside { place, ..Beside::default() });
        out.push_str(&format!("  {line}\n"));
        above = Some(&sick.key);
    }
    if onset.sick_left_out > 0 {
        let more = format!("  … and {} more top-level resources", grouped(onset.sick_left_out));
        out.push_str(&format!("{}\n", style.paint.dim(&more)));
    }
    let window = lasted(onset.from.since(onset.looked_at_since));
    if onset.causes.is_empty() {
        out.push_str(&format!("\n{}\n", no_cause(onset)));
    } else {
        out.push_str(&format!("\nChanges in the {window} before, likeliest cause first:\n"));
    }
    out.extend(onset.causes.iter().map(|cause| line(cause, onset.from, form)));
    out.push_str(&further(onset.causes_left_out, style));
    if effects {
        out.push_str("\nFollow-up changes, newest first:\n");
        out.extend(onset.effects.iter().map(|effect| line(effect, onset.from, form)));
        out.push_str(&further(onset.effects_left_out, style));
    } else if !onset.effects.is_empty() {
        let count = onset.effects.len() as u64 + onset.effects_left_out;
        let text = format!("({} follow-up changes; --effects lists them)", grouped(count));
        out.push_str(&format!("{}\n", style.paint.dim(&text)));
    }
    if onset.truncated {
        out.push_str("Too many changes: the beginning of the window was not searched.\n");
    }
    out
}

/// What became what and when, and how sure that is.
fn heading(subject: &str, answer: &Answer<Onset>, style: Style) -> String {
    let onset = &answer.value;
    let health = Some(onset.health);
    let badge = style.paint.health(health, &format!("{} {}", sign(health), onset.health));
    let before = onset.before.map(|before| format!(", previously {before}")).unwrap_or_default();
    let until = match onset.until {
        Some(until) => format!(" until {}", clock_time(until)),
        None => String::new(),
    };
    let mut out = format!(
        "{} became {badge} at {} ({} ago){until}{before}   {}\n",
        style.paint.bold(&visible(subject)),
        clock_time(onset.from),
        age(onset.from, style.now),
        moment(&answer.metadata),
    );
    let mut warn = |text: String| {
        out.push_str(&style.paint.health(Some(Health::Unknown), &format!("! {}", visible(&text))));
        out.push('\n');
    };
    if onset.not_before < onset.from {
        let known = clock_time(onset.not_before);
        warn(format!("it may have started as early as {known}: the recording has a gap until then"));
    }
    for gap in onset.gaps.iter().take(5) {
        let kind = if gap.kind.is_empty() { "all kinds" } else { &gap.kind };
        let until = gap.until.map(|until| format!(" until {}", clock_time(until))).unwrap_or_default();
        let since = clock_time(gap.since);
        warn(format!("cluster {}: {kind} not watched from {since}{until}: {}", gap.cluster, gap.reason));
    }
    out
}

fn further(left_out: u64, style: Style) -> String {
    match left_out {
        0 => String::new(),
        left_out => format!("{}\n", style.paint.dim(&format!("  … and {} more", grouped(left_out)))),
    }
}

/// A change, and what of its object differs.
fn line(change: &OnsetChange, from: Timestamp, form: Form) -> String {
    let (entry, style) = (&change.entry, form.style);
    let place = form.places.say_all(change).map(|place| format!("  in {place}")).unwrap_or_default();
    let rank = match change.rank {
        Rank::Deployment | Rank::Cause => style.paint.bold(&format!("{:<12}", change.rank)),
        rank => style.paint.dim(&format!("{rank:<12}")),
    };
    let before = format!("{} before", age(entry.observed_at, from));
    let mut out = format!(
        "  {before:<13} {rank} {}{}  {}\n",
        style.paint.bold(&visible(&entry_subject(entry))),
        style.paint.dim(&visible(&place)),
        visible(&entry_words(entry)),
    );
    for difference in &change.differences {
        let line = difference_line(difference, form.width.saturating_sub(MARGIN));
        out.push_str(&format!("{:MARGIN$}{}\n", "", visible(&line)));
    }
    if change.differences_left_out > 0 {
        let more = format!("… {} more differences", grouped(change.differences_left_out));
        out.push_str(&format!("{:MARGIN$}{}\n", "", style.paint.dim(&more)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::fixtures::{onset, onset_place};
    use crate::format::tests::{NOON, snapshot};

    const PLAIN: Style = Style { paint: Paint(false), now: NOON, wide: false };

    fn answer() -> Answer<Onset> {
        Answer { value: onset(), metadata: snapshot() }
    }

    fn render(subject: &str, answer: &Answer<Onset>, effects: bool) -> String {
        super::render(subject, answer, Form::new(answer, PLAIN, Some(100)), effects)
    }

    #[test]
    fn an_onset_names_what_became_sick_and_what_changed_before() {
        assert_eq!(
            render("shop.web.production", &answer(), false),
            "\
shop.web.production became ✖ Degraded at 2026-11-20 11:58:00 UTC (2m ago), previously Healthy   offset 1234, 2026-11-20 12:00:00 UTC
  Deployment/web  ✖ Degraded  5d3h

Changes in the 15m before, likeliest cause first:
  60s before    cause        Deployment/web  changed spec
                             spec.replicas: 3 → 5
                             … 1 more differences
(5 follow-up changes; --effects lists them)
"
        );
        let effects = render("shop.web.production", &answer(), true);
        assert!(effects.contains("Follow-up changes, newest first:\n  60s before    symptom"), "{effects}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut answer = answer();
        answer.value.causes.clear();
        answer.value.not_before = answer.value.looked_at_since;
        let text = render("x", &answer, false);
        assert!(text.contains("! it may have started as early as 2026-11-20 11:43:00 UTC"), "{text}");
        assert!(text.contains("The cause is unknown: the recording has a gap in the 15m before"), "{text}");
        answer.value.not_before = answer.value.from;
        let text = render("x", &answer, false);
        assert!(text.contains("No likely cause found in the 15m before."), "{text}");
    }

    #[test]
    fn a_change_of_several_clusters_is_one_line_that_says_what_differs() {
        let mut answer = answer();
        let cause = &mut answer.value.causes[0];
        cause.also.push(onset_place("us-east", "shop"));
        let image = |version: &str| {
            Some(format!("registry.example.com/platform/notifications/notifications:{version}").into())
        };
        let one = &mut cause.differences[0];
        (one.path, one.before, one.after) = ("spec.image".into(), image("2.4.0"), image("2.5.0"));
        let text = render("x", &answer, false);
        assert!(text.contains("Deployment/web  in eu-west, us-east  changed spec\n"), "{text}");
        assert!(text.contains(" spec.image: …notifications:2.4.0 → …notifications:2.5.0\n"), "{text}");
        assert!(text.contains("  Deployment/web  in eu-west  ✖ Degraded"), "{text}");
    }
}
