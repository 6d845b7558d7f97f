//! Why an environment is in the state it is in, as the paths from its top down to what is wrong.

use super::answers::{parameters, reference, typed};
use super::args::{OutputFormat, WhyArgs};
use super::client::Client;
use super::error::CliError;
use super::line::{Beside, Style};
use super::output::{Paint, drawing, write};
use super::query::Add;
use super::views::Listed;
use crate::format::{Places, grouped, missing_end, preface, visible};
use strandline_model::Health;
use strandline_protocol::{Answer, Why, WhyPath};
use strandline_syntax::percent_encode;

/// Asks for the paths and draws them.
pub(super) async fn why(args: &WhyArgs) -> Result<(), CliError> {
    let what = format!("explaining environment {}", args.environment);
    let path = format!("/api/v1/environments/{}/why", percent_encode(args.environment.as_str()));
    let query = parameters(&args.server).add("limit", args.limit.as_slice());
    let value = Client::reading(&args.server)?.get(&what, &path, &query).await?;
    if let Some(text) = drawing(&args.output, &value) {
        return write(&text?);
    }
    let answer: Answer<Why> = typed(&what, value)?;
    if args.output.output == OutputFormat::Name {
        let ends = answer.value.paths.iter().filter_map(|path| path.steps.last());
        return write(&ends.map(|end| visible(&end.name()).into_owned() + "\n").collect::<String>());
    }
    let style = Style {
        paint: Paint::for_stdout(args.output.color),
        now: reference(&args.server, &answer.metadata),
        wide: args.output.output == OutputFormat::Wide,
    };
    write(&draw(&answer, style))
}

/// Draws what is wrong, or says that nothing is.
pub(super) fn draw(answer: &Answer<Why>, style: Style) -> String {
    let why = &answer.value;
    let mut out = style.header(&why.environment, &answer.metadata);
    if let Some(line) = preface(why, !answer.metadata.coverage.complete) {
        out.push_str(&format!("{line}\n"));
    }
    let places = Places::of_why(why);
    for path in &why.paths {
        out.push_str(&drawn(path, places, style));
    }
    let further = why.roots.saturating_sub(why.paths.len() as u64);
    if further > 0 {
        let more = format!("({} more; --limit shows up to {})", grouped(further), Why::LIMIT);
        out.push_str(&format!("{}\n", style.paint.dim(&more)));
    }
    out
}

/// A path, each step below the one before.
fn drawn(path: &WhyPath, places: Places, style: Style) -> String {
    let mut out = String::new();
    // What was left out lies in the middle.
    let cut = if path.skipped > 0 { path.steps.len() / 2 } else { usize::MAX };
    let mut indent = String::new();
    for (place, step) in path.steps.iter().enumerate() {
        if place == cut {
            out.push_str(&style.paint.dim(&format!("{indent}… {} steps not shown\n", grouped(path.skipped))));
        }
        let above = place.checked_sub(1).and_then(|above| path.steps.get(above)).map(|above| &above.key);
        let beside = Beside { place: places.say(&step.key, above), ..Beside::default() };
        let branch = if place == 0 { "" } else { "└─ " };
        let text = style.resource(step, &beside);
        out.push_str(&format!("{}{text}\n", style.paint.dim(&format!("{indent}{branch}"))));
        indent.push_str(if place == 0 { "" } else { "   " });
    }
    for end in &path.missing {
        let line = format!("{indent}○ {}", visible(&missing_end(end)));
        out.push_str(&format!("{}\n", style.paint.health(Some(Health::Missing), &line)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{NOON, resource, snapshot, why, why_path};
    use strandline_protocol::{Coverage, Gap};

    fn render(why: Why) -> String {
        let style = Style { paint: Paint(false), now: NOON, wide: false };
        draw(&Answer { value: why, metadata: snapshot() }, style)
    }

    #[test]
    fn a_path_leads_from_the_top_to_what_is_wrong_and_to_what_is_missing() {
        let mut found = why(vec![why_path(&["web", "web-1", "web-1-a"])]);
        found.roots = 3;
        assert_eq!(
            render(found),
            "\
shop.web.production  ✖ Degraded for 5d3h   offset 1234, 2026-11-20 12:00:00 UTC
Deployment/web  ✖ Degraded  5d3h
└─ ReplicaSet/web-1  ✖ Degraded  5d3h
   └─ Pod/web-1-a  ✖ Degraded  CrashLoopBackOff: back-off 5m restarting failed container  5d3h
      ○ mounts ConfigMap shop/web-config, which does not exist
(2 more; --limit shows up to 100)
"
        );
    }

    #[test]
    fn where_nothing_is_wrong_that_is_said() {
        let text = render(why(vec![]));
        assert!(text.ends_with("No problem found: the environment is Healthy.\n"), "{text}");
        let mut bare = why(vec![]);
        bare.environment.health.state = None;
        assert!(render(bare).ends_with("none of its resources has a health state.\n"));
    }

    #[test]
    fn where_a_gap_is_the_reason_that_is_said_first() {
        let mut blind = why(vec![]);
        blind.environment.health.state = Some(Health::Unknown);
        blind.environment.health.last_known = Some(Health::Healthy);
        let gap = Gap {
            cluster: "eu-west".into(),
            group: String::new(),
            kind: "Pod".into(),
            namespace: String::new(),
            since: NOON,
            until: None,
            reason: "unreachable".into(),
            message: String::new(),
        };
        let mut metadata = snapshot();
        metadata.coverage = Coverage { complete: false, gaps: vec![gap] };
        let style = Style { paint: Paint(false), now: NOON, wide: false };
        let draw = |value: &Why| draw(&Answer { value: value.clone(), metadata: metadata.clone() }, style);
        let text = draw(&blind);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines[0].starts_with("! cluster eu-west: Pod not watched since"), "{text}");
        assert_eq!(lines[1], "Unknown because the recording has a gap; last known: Healthy.");
        blind.environment.health.last_known = None;
        assert!(draw(&blind).ends_with("no earlier health is known.\n"));
        blind.environment.health.last_known = Some(Health::Degraded);
        blind.paths = vec![why_path(&["web"])];
        let text = render(blind);
        assert!(text.contains("Why it was Degraded before:\nDeployment/web"), "{text}");
    }

    #[test]
    fn what_was_left_out_of_a_long_path_is_said_in_its_middle() {
        let mut path = why_path(&["a", "b", "c", "d"]);
        (path.skipped, path.missing) = (1200, vec![]);
        let text = render(why(vec![path]));
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert!(lines[0].starts_with("└─ ReplicaSet/b"), "{text}");
        assert_eq!(lines[1], "   … 1,200 steps not shown");
        assert!(lines[2].starts_with("   └─ ReplicaSet/c"), "{text}");
    }

    #[test]
    fn places_are_said_where_paths_lead_through_several() {
        let mut elsewhere = why_path(&["db"]);
        elsewhere.steps[0] = resource("StatefulSet", "db", Some(Health::Degraded));
        elsewhere.steps[0].key.cluster = "us-east".into();
        let text = render(why(vec![why_path(&["web", "web-1"]), elsewhere]));
        assert!(text.contains("Deployment/web  in eu-west  ✖"), "{text}");
        assert!(text.contains("└─ Pod/web-1  ✖"), "said once on each path: {text}");
        assert!(text.contains("StatefulSet/db  in us-east  ✖"), "{text}");
    }
}
