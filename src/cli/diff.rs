//! What differs between two moments or two environments.

use serde_json::Value;

use super::address::below;
use super::answers::{parameters, typed};
use super::args::{DiffArgs, DiffFormat, ServerArgs, Subject};
use super::client::Client;
use super::error::{CliError, Exit, Outcome};
use super::line;
use super::now::now;
use super::output::{Paint, json_text, write, yaml_text};
use super::query::{Add, Parameters};
use super::runtime::runtime;
use super::stderr::note;
use crate::format::{change_sign, environment_diff, printed, resource_diff, visible};
use strandline_model::EnvironmentId;
use strandline_object_diff::{Line, Mark};
use strandline_protocol::{Answer, EnvironmentDiff, ResourceDiff, Snapshot};
use strandline_syntax::percent_encode;

/// Compares and prints; returns whether there are differences where that was asked for.
pub(super) fn run(args: &DiffArgs) -> Result<Outcome, CliError> {
    let compared = runtime()?.block_on(async {
        match (&args.environment, &args.resource) {
            (_, Some(subject)) => of_resource(args, subject).await,
            (Some(environment), None) => of_environment(args, environment).await,
            (None, None) => {
                Err(CliError::new("comparing", "no environment or resource given").exit(Exit::Usage))
            }
        }
    });
    match compared {
        // As `diff` and `kubectl diff` have it, 1 reports differences alone.
        Err(error) if args.exit_code && error.exit == Exit::Failure => Err(error.exit(Exit::Usage)),
        Ok(true) if args.exit_code => Ok(Outcome::Different),
        compared => compared.map(|_| Outcome::Done),
    }
}

/// What every comparison asks for; the later moment has two names.
fn asked(args: &DiffArgs) -> Parameters {
    parameters(&args.server)
        .add_of("--to", "to", args.to.as_slice())
        .add_of("--from", "from", args.from.as_slice())
        .add("include", &args.include.iter().map(|class| class.as_str()).collect::<Vec<_>>())
        .add("ignore", &args.ignore)
}

async fn of_resource(args: &DiffArgs, subject: &Subject) -> Result<bool, CliError> {
    let what = format!("comparing {subject}");
    // What is compared is looked for at the later moment.
    let server = match &args.to {
        Some(to) => ServerArgs { at: Some(*to), at_argument: Some("--to"), ..args.server.clone() },
        None => args.server.clone(),
    };
    let (path, cluster) = below(subject, &args.place, &server, "diff").await?;
    let client = Client::reading(&server)?;
    let patch = (args.output == DiffFormat::Patch).then_some("patch");
    let query = asked(args).add("cluster", cluster.as_slice()).add("format", patch.as_slice());
    let value = client.get(&what, &path, &query).await?;
    if patch.is_some() {
        let differs = value.as_array().is_none_or(|operations| !operations.is_empty());
        return write(&json_text(&value)?).map(|()| differs);
    }
    let differs = |diff: &ResourceDiff| !diff.comparison.is_empty();
    if let Some(text) = plain(args.output, &value).transpose()? {
        write(&text)?;
        return typed::<Answer<ResourceDiff>>(&what, value).map(|answer| differs(&answer.value));
    }
    let answer: Answer<ResourceDiff> = typed(&what, value)?;
    warn(&answer.metadata);
    let diff = &answer.value;
    match args.output {
        DiffFormat::Name => {
            let paths = diff.comparison.differences.iter().map(|one| visible(&one.path).into_owned() + "\n");
            write(&paths.collect::<String>())?;
        }
        _ => write(&painted(&resource_diff(diff), Paint::for_stdout(args.color)))?,
    }
    Ok(differs(diff))
}

async fn of_environment(args: &DiffArgs, environment: &EnvironmentId) -> Result<bool, CliError> {
    if args.output == DiffFormat::Patch {
        return Err(CliError::new("comparing", "the patch format needs a resource")
            .hint("add --resource, as in --resource deploy/web -o patch")
            .exit(Exit::Usage));
    }
    let what = format!("comparing {environment}");
    let children = args.children.then_some("true");
    let query = asked(args)
        .add("with", args.with.as_slice())
        .add("map", &args.map)
        .add("children", children.as_slice());
    let path = format!("/api/v1/environments/{}/diff", percent_encode(environment.as_str()));
    let value = Client::reading(&args.server)?.list(&what, &path, query, args.limit).await?;
    if let Some(text) = plain(args.output, &value).transpose()? {
        write(&text)?;
        return typed::<EnvironmentDiff>(&what, value).map(|diff| !diff.is_empty());
    }
    let diff: EnvironmentDiff = typed(&what, value)?;
    warn(diff.snapshot());
    match args.output {
        DiffFormat::Name => write(&names(&diff))?,
        _ => write(&painted(&environment_diff(&diff), Paint::for_stdout(args.color)))?,
    }
    if diff.metadata.next.is_some() {
        note!("… more differences not shown; omit --limit to show all");
    }
    Ok(!diff.is_empty())
}

/// A sign and a name on each line, as kubectl names what there is.
fn names(diff: &EnvironmentDiff) -> String {
    let name = |item: &strandline_protocol::ResourceChange| {
        let kind = item.key.kind.to_string().to_lowercase();
        format!("{}{}\n", change_sign(item.change), visible(&format!("{kind}/{}", item.key.name)))
    };
    diff.items.iter().map(name).collect()
}

/// An answer as it is, in the forms that print that.
fn plain(format: DiffFormat, value: &Value) -> Option<Result<String, CliError>> {
    match format {
        DiffFormat::Json => Some(json_text(value)),
        DiffFormat::Yaml => Some(yaml_text(value)),
        DiffFormat::Text | DiffFormat::Patch | DiffFormat::Name => None,
    }
}

fn warn(snapshot: &Snapshot) {
    for gap in line::gaps(snapshot, now()) {
        note!("warning: {gap}");
    }
}

pub(super) fn painted(lines: &[Line], paint: Paint) -> String {
    let painted = |line: &Line| {
        let text = printed(line);
        let text = match line.mark {
            Mark::From | Mark::Removed => paint.removed(&text),
            Mark::To | Mark::Added => paint.added(&text),
            Mark::Title | Mark::Place => paint.bold(&text),
            Mark::Note => paint.dim(&text),
            Mark::Same | Mark::Blank => text,
        };
        text + "\n"
    };
    lines.iter().map(painted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{environment_changes, resource_changes};

    #[test]
    fn an_environment_is_told_resource_by_resource() {
        let expected = "\
--- shop.web.production  offset 1000, 2026-11-20 11:00:00 UTC  6 resources  ✔ Healthy
+++ shop.web.production  offset 1234, 2026-11-20 12:00:00 UTC  7 resources  ✖ Degraded
    1 added, 1 changed, 3 controller updates, 2 with hidden differences, 3 unchanged

+ ConfigMap shop/web-config   added

~ Deployment.apps shop/web   changed, ✔ Healthy → ✖ Degraded
  spec.template.spec.containers[name=web].image
-   web:1
+   web:2
  (not shown: 2 in status)
  (children: Pod 1 added, 1 removed, 1 changed)
";
        assert_eq!(painted(&environment_diff(&environment_changes()), Paint(false)), expected);
        assert_eq!(names(&environment_changes()), "+configmap/web-config\n~deployment.apps/web\n");
    }

    #[test]
    fn a_resource_is_told_with_its_two_versions_and_in_colours_where_wanted() {
        let text = painted(&resource_diff(&resource_changes()), Paint(false));
        let expected = "\
--- Deployment.apps shop/web  offset 1000, 2026-11-20 11:00:00 UTC, does not exist
+++ Deployment.apps shop/web  offset 1234, 2026-11-20 12:00:00 UTC, version of 2026-11-20 12:00:00 UTC by kubectl
  spec.template.spec.containers[name=web].image
-   web:1
+   web:2
  (not shown: 2 in status)
";
        assert_eq!(text, expected);
        let coloured = painted(&resource_diff(&resource_changes()), Paint(true));
        assert!(
            coloured.contains("\u{1b}[31m-   web:1\u{1b}[0m")
                && coloured.contains("\u{1b}[32m+   web:2\u{1b}[0m")
        );
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let lines = [Line::new(Mark::Added, "a\u{1b}[2Jb\u{202e}")];
        assert_eq!(painted(&lines, Paint(false)), "+   a\\u{1b}[2Jb\\u{202e}\n");
    }
}
