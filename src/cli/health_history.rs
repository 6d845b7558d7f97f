//! The health of an environment or a resource over time.

use super::address::{Whose, whose_route};
use super::answers::{parameters, reference, typed};
use super::args::{HealthArgs, OutputFormat};
use super::client::Client;
use super::error::CliError;
use super::line::{Style, moment};
use super::output::{Paint, drawing, named, write};
use super::query::Add;
use super::runtime::runtime;
use super::stderr::note;
use super::table::{Cell, Table};
use crate::format::{clock_time, lasted, shares, sign, visible, worsened};
use strandline_protocol::{Answer, HealthHistory, HealthInterval};

/// Asks for the history and prints it.
pub(super) fn run(args: &HealthArgs) -> Result<(), CliError> {
    runtime()?.block_on(show(args))
}

async fn show(args: &HealthArgs) -> Result<(), CliError> {
    named("reading health", &args.output, "an interval of health has")?;
    let whose = (args.resource.as_ref(), args.environment.as_ref());
    let Whose { subject, path, cluster } = whose_route(whose, &args.place, &args.server, "health").await?;
    let what = format!("reading the health of {subject}");
    let query = parameters(&args.server)
        .add("cluster", cluster.as_slice())
        .add_of("--since", "since", args.since.as_slice())
        .add("limit", args.limit.as_slice());
    let value = Client::reading(&args.server)?.get(&what, &path, &query).await?;
    if let Some(text) = drawing(&args.output, &value) {
        return write(&text?);
    }
    let answer: Answer<HealthHistory> = typed(&what, value)?;
    let style = Style {
        paint: Paint::for_stdout(args.output.color),
        now: reference(&args.server, &answer.metadata),
        wide: args.output.output == OutputFormat::Wide,
    };
    let form = Form { style, reasons: args.resource.is_some(), headers: !args.output.no_headers };
    write(&printed(&subject, &answer, form))?;
    // Scripts that read the table must not take this for a row of it.
    if answer.value.truncated {
        note!("… earlier intervals not shown; raise --limit to show more");
    }
    Ok(())
}

/// How a history is printed.
#[derive(Clone, Copy, Debug)]
struct Form {
    style: Style,
    /// Whether there are reasons to report, which environments have none of.
    reasons: bool,
    headers: bool,
}

fn printed(subject: &str, answer: &Answer<HealthHistory>, form: Form) -> String {
    let mut out = if form.headers { header(subject, answer, form.style) } else { String::new() };
    let history = &answer.value;
    if !history.intervals.is_empty() {
        out.push_str(&table(history, form).render(form.style.paint, form.headers));
    }
    out
}

/// What the span comes to: time in each state, and how often it worsened.
fn header(subject: &str, answer: &Answer<HealthHistory>, style: Style) -> String {
    let history = &answer.value;
    let share = |share: crate::format::Share| {
        let text = format!("{} {} {}", sign(share.health), share.word, share.part);
        format!("{} ({})", style.paint.health(share.health, &text), share.lasted)
    };
    let mut figures: Vec<String> = shares(history).into_iter().map(share).collect();
    figures.push(worsened(history));
    if history.flapping {
        figures.push(style.paint.health(Some(strandline_model::Health::Degraded), "flapping"));
    }
    format!(
        "{}  {} up to {}   {}\n{}{}\n\n",
        style.paint.bold(&visible(subject)),
        lasted(history.until.since(history.since)),
        clock_time(history.until),
        moment(&answer.metadata),
        style.unwatched(&answer.metadata),
        figures.join("   "),
    )
}

fn table(history: &HealthHistory, form: Form) -> Table {
    let Form { style, reasons, .. } = form;
    let mut headers = vec!["FROM", "UNTIL", "LASTED", "HEALTH"];
    headers.extend(reasons.then_some("REASON"));
    headers.extend(if style.wide { &["OFFSET", "RULES"][..] } else { &[] });
    headers.extend((reasons && style.wide).then_some("MESSAGE"));
    let row = |one: &HealthInterval| {
        let until = one.until.map(clock_time).unwrap_or_else(|| "-".into());
        let time = std::time::Duration::from_millis(one.lasted_ms);
        let mut cells = vec![
            Cell::text(clock_time(one.from)),
            Cell::text(until),
            Cell::text(lasted(time)),
            Cell::Health(one.health),
        ];
        cells.extend(reasons.then(|| Cell::text(&one.reason)));
        if style.wide {
            cells.extend([Cell::text(one.offset.to_string()), Cell::text(&one.rule_set)]);
        }
        cells.extend((reasons && style.wide).then(|| Cell::text(&one.message)));
        cells
    };
    Table::new(headers, history.intervals.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::super::error::Exit;
    use super::*;
    use crate::format::tests::{NOON, health_history, snapshot};
    use strandline_model::Health;

    const PLAIN: Style = Style { paint: Paint(false), now: NOON, wide: false };

    fn answer() -> Answer<HealthHistory> {
        let mut value = health_history(&[
            (Some(Health::Degraded), 1),
            (Some(Health::Healthy), 719),
            (Some(Health::Degraded), 2000),
        ]);
        (value.worsened, value.flapping) = (3, true);
        Answer { value, metadata: snapshot() }
    }

    #[test]
    fn a_history_is_told_in_figures_and_intervals() {
        let form = Form { style: PLAIN, reasons: true, headers: true };
        assert_eq!(
            printed("web-0", &answer(), form),
            "\
web-0  24h up to 2026-11-20 12:00:00 UTC   offset 1234, 2026-11-20 12:00:00 UTC
✖ Degraded 50% (12h)   ✔ Healthy 49.9% (11h)   3 incidents   flapping

FROM                      UNTIL                     LASTED   HEALTH     REASON
2026-11-20 11:59:00 UTC   -                         60s      Degraded   CrashLoopBackOff
2026-11-20 00:00:00 UTC   2026-11-20 11:59:00 UTC   11h      Healthy    <none>
2026-11-18 14:40:00 UTC   2026-11-20 00:00:00 UTC   33h      Degraded   CrashLoopBackOff
"
        );
    }

    #[test]
    fn environments_have_no_reasons_and_wide_tables_have_offsets() {
        let form = Form { style: Style { wide: true, ..PLAIN }, reasons: false, headers: true };
        let text = printed("shop.web.production", &answer(), form);
        let header = text.lines().find(|line| line.starts_with("FROM")).unwrap_or_default();
        let columns: Vec<&str> = header.split_whitespace().collect();
        assert_eq!(columns, ["FROM", "UNTIL", "LASTED", "HEALTH", "OFFSET", "RULES"]);
    }

    #[test]
    fn intervals_have_no_names() {
        use super::super::args::{Cli, Command};
        use clap::Parser;
        let line = ["strandline", "health", "shop.web.production", "-o", "name"];
        let Ok(Cli { command: Command::Health(args) }) = Cli::try_parse_from(line) else {
            panic!("arguments of health")
        };
        // Nobody is asked before.
        let refused = run(&args).map_err(|error| (error.exit, error.why));
        assert_eq!(refused, Err((Exit::Usage, "an interval of health has no name for -o name".into())));
    }

    #[test]
    fn scripts_get_the_intervals_alone() {
        let form = Form { style: PLAIN, reasons: false, headers: false };
        let text = printed("x", &answer(), form);
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("2026-11-20 11:59:00 UTC"), "{text}");
    }
}
