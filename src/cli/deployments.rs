//! Deployments across environments, or one of them.

use super::answers::{parameters, print_at, print_list};
use super::args::DeploymentsArgs;
use super::error::CliError;
use super::overview::declared;
use super::query::Add;
use strandline_protocol::Deployment;

/// Lists deployments, or shows one.
pub(super) async fn list(args: &DeploymentsArgs) -> Result<(), CliError> {
    let query = parameters(&args.list.server);
    if let Some(id) = args.id {
        let query = query.add("project", &args.declared.project);
        let what = format!("reading deployment {id}");
        return print_at::<Deployment>(&what, &format!("/api/v1/deployments/{id}"), &query, &args.list).await;
    }
    let query = declared(query, &args.declared)
        .add("environment", args.environment.as_slice())
        .add("status", &args.status)
        .add("ref", &args.refs)
        .add("by", &args.by)
        .add("since", args.since.as_slice())
        .add("until", args.until.as_slice());
    print_list::<Deployment>("deployments", "/api/v1/deployments", query, &args.list).await
}
