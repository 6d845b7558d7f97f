//! The commands that read: ask the server, then print.

use serde_json::json;

use super::address::{self, Address, below};
use super::answers::{parameters, print_at, print_list, print_member, print_one, reference, typed};
use super::args::{
    EnvironmentsArgs, GetCommand, HistoryArgs, ListArgs, OutputFormat, PlaceArgs, ReadCommand, Subject,
    TreeArgs, VersionArgs,
};
use super::client::Client;
use super::error::{CliError, Exit};
use super::line::Style;
use super::output::{Paint, document, drawing, named, write};
use super::query::{Add, Parameters};
use super::runtime::runtime;
use super::views::Listed;
use super::{
    catalog, changes, coverage, deployments, events, images, onset, overview, search, timeline, tree, wait,
    watch, why,
};
use crate::build_info::BuildInfo;
use crate::format::visible;
use strandline_protocol::{
    Agent, Answer, Cluster, Collapse, Environment, Graph, Project, ProjectGroup, Resource, ResourceDetail,
    Version,
};
use strandline_query::Presence;
use strandline_syntax::percent_encode;

/// Runs a command that reads.
pub(super) fn run(command: &ReadCommand) -> Result<(), CliError> {
    runtime()?.block_on(async {
        match command {
            ReadCommand::Get(what) => get(what).await,
            ReadCommand::Find(args) => address::list(args).await,
            ReadCommand::Search(args) => search::search(args).await,
            ReadCommand::Images(args) => images::list(args).await,
            ReadCommand::Overview(args) => overview::overview(args).await,
            ReadCommand::Tree(args) => draw(args).await,
            ReadCommand::Why(args) => why::why(args).await,
            ReadCommand::Onset(args) => onset::onset(args).await,
            ReadCommand::Timeline(args) => timeline::timeline(args).await,
            ReadCommand::Changes(args) => changes::list(args).await,
            ReadCommand::History(args) if !args.field.is_empty() => images::fields(args).await,
            ReadCommand::History(args) => history(args).await,
            ReadCommand::Events(args) => events::list(args).await,
            ReadCommand::Coverage(args) => coverage::list(args).await,
            ReadCommand::LeftBehind(args) => catalog::left_behind(args).await,
            ReadCommand::Wait(args) => wait::wait(args).await,
            ReadCommand::Version(args) => version(args),
        }
    })
}

async fn get(command: &GetCommand) -> Result<(), CliError> {
    match command {
        GetCommand::Environments(EnvironmentsArgs { id: Some(id), list, .. }) => {
            print_one::<Environment>("environment", "environments", id.as_str(), list).await
        }
        GetCommand::Projects { id: Some(id), list } => {
            print_one::<Project>("project", "projects", id, list).await
        }
        GetCommand::Agents { id: Some(id), list } => print_one::<Agent>("agent", "agents", id, list).await,
        GetCommand::Deployments(args) => deployments::list(args).await,
        GetCommand::Projects { id: None, list } => {
            print_list::<Project>("projects", "/api/v1/projects", parameters(&list.server), list).await
        }
        GetCommand::Groups { id: Some(id), list } => {
            print_member::<ProjectGroup>("group", "groups", id, list).await
        }
        GetCommand::Clusters { id: Some(id), list } => {
            print_member::<Cluster>("cluster", "clusters", id, list).await
        }
        GetCommand::Groups { id: None, list } => {
            print_list::<ProjectGroup>("groups", "/api/v1/groups", parameters(&list.server), list).await
        }
        GetCommand::Agents { id: None, list } => {
            print_list::<Agent>("agents", "/api/v1/agents", parameters(&list.server), list).await
        }
        GetCommand::Environments(args) => {
            let query = overview::filtered(parameters(&args.list.server), &args.filter);
            if args.watch.is_asked() {
                let (nouns, path) = ("environments", "/api/v1/environments");
                let target = watch::Target { nouns, member: "environment", path };
                return watch::watch::<Environment>(target, query, &args.list, &args.watch).await;
            }
            print_list::<Environment>("environments", "/api/v1/environments", query, &args.list).await
        }
        GetCommand::Clusters { id: None, list } => {
            print_list::<Cluster>("clusters", "/api/v1/clusters", parameters(&list.server), list).await
        }
        GetCommand::Resources { resource: Some(resource), place, list, answer, .. } => {
            one(resource, place, list, *answer).await
        }
        GetCommand::Resources { resource: None, place, kind, health, owner, order, list, watch, .. } => {
            let in_places = place.cluster.is_some() || place.namespace.is_some();
            let Some(environment) = place.within.as_ref().filter(|_| !in_places) else {
                if !health.is_empty() || owner.is_some() || order.is_some() {
                    let why = "--health, --owner and --order apply to the resources of an environment";
                    return Err(CliError::new("reading resources", why)
                        .hint("name the environment with -e, and leave --cluster and --namespace out")
                        .exit(Exit::Usage));
                }
                if watch.is_asked() {
                    let why = "only the resources of an environment can be watched";
                    return Err(CliError::new("watching resources", why)
                        .hint("name the environment with -e, and leave --cluster and --namespace out")
                        .exit(Exit::Usage));
                }
                return address::list_kinds(kind, place, Presence::Present, list).await;
            };
            let path = format!("/api/v1/environments/{}/resources", percent_encode(environment.as_str()));
            let query = parameters(&list.server)
                .add("kind", kind)
                .add("health", health)
                .add("owner", owner.as_slice());
            if watch.is_asked() {
                if order.is_some() {
                    let why = "--order cannot be combined with --watch: changes are printed as they happen";
                    return Err(CliError::new("watching resources", why).exit(Exit::Usage));
                }
                let target = watch::Target { nouns: "resources", member: "resource", path: &path };
                return watch::watch::<Resource>(target, query, list, watch).await;
            }
            let query = query.add("order", order.as_slice());
            print_list::<Resource>("resources", &path, query, list).await
        }
    }
}

async fn history(args: &HistoryArgs) -> Result<(), CliError> {
    let (path, cluster) = below(&args.resource, &args.place, &args.list.server, "history").await?;
    let documents = matches!(args.list.output.output, OutputFormat::Json | OutputFormat::Yaml);
    let bodies = (args.bodies && documents).then_some("true");
    let query =
        parameters(&args.list.server).add("cluster", cluster.as_slice()).add("bodies", bodies.as_slice());
    print_list::<Version>("versions", &path, query, &args.list).await
}

/// One resource: its object in the forms for programs, or the line that lists have of it.
async fn one(subject: &Subject, place: &PlaceArgs, list: &ListArgs, answer: bool) -> Result<(), CliError> {
    let (path, cluster) = below(subject, place, &list.server, "").await?;
    let query = parameters(&list.server).add("cluster", cluster.as_slice());
    let what = format!("reading resource {subject}");
    let for_people = matches!(
        list.output.output,
        OutputFormat::Table | OutputFormat::Wide | OutputFormat::Name | OutputFormat::Csv
    );
    if answer || for_people {
        return print_at::<ResourceDetail>(&what, &path, &query, list).await;
    }
    let mut value = Client::reading(&list.server)?.get(&what, &path, &query).await?;
    let text = document(&list.output, &value["object"].take());
    text.map_or(Ok(()), |text| write(&text?))
}

async fn draw(args: &TreeArgs) -> Result<(), CliError> {
    let what = format!("reading environment {}", args.environment);
    let path = format!("/api/v1/environments/{}/graph", percent_encode(args.environment.as_str()));
    let client = Client::reading(&args.server)?;
    let under = match &args.under {
        Some(subject) => {
            let within = matches!(subject, Subject::Named { .. }).then(|| args.environment.clone());
            let (cluster, namespace) = (args.cluster.clone(), args.namespace.clone());
            let place = PlaceArgs { cluster, namespace, within };
            Some(address::find(&client, &args.server, subject, &place).await?)
        }
        None => None,
    };
    let value = client.get(&what, &path, &drawn(args, under)).await?;
    if let Some(text) = drawing(&args.output, &value) {
        return write(&text?);
    }
    let answer: Answer<Graph> = typed(&what, value)?;
    if args.output.output == OutputFormat::Name {
        let names = answer.value.nodes.iter().map(|node| visible(&node.resource.name()).into_owned() + "\n");
        return write(&names.collect::<String>());
    }
    let style = Style {
        paint: Paint::for_stdout(args.output.color),
        now: reference(&args.server, &answer.metadata),
        wide: args.output.output == OutputFormat::Wide,
    };
    write(&tree::draw(&answer, args.all, style))
}

/// What of an environment's graph is asked for.
fn drawn(args: &TreeArgs, under: Option<Address>) -> Parameters {
    let (under, cluster) = under.map(|address| (address.uid, address.cluster)).unzip();
    let all = args.all.then_some((Collapse::None, Graph::LIMIT as u64));
    parameters(&args.server)
        .add("under", under.as_slice())
        .add("cluster", cluster.flatten().as_slice())
        .add("depth", args.depth.as_slice())
        .add("collapse", all.map(|all| all.0).or(args.collapse).as_slice())
        .add("limit", all.map(|all| all.1).or(args.limit).as_slice())
}

fn version(args: &VersionArgs) -> Result<(), CliError> {
    let build = BuildInfo::current();
    let BuildInfo { version, commit, build_date, target } = &build;
    let value = json!({
        "name": "strandline", "version": version, "commit": commit, "build_date": build_date, "target": target,
    });
    named("writing the version", &args.output, "a version has")?;
    match drawing(&args.output, &value) {
        Some(text) => write(&text?),
        None => write(&format!("strandline {version} (commit {commit}, built {build_date}, {target})\n")),
    }
}
