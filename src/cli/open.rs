//! `strandline open`: the page of an environment or a resource, in a browser.

use super::address::{self, Address};
use super::answers::{parameters, typed};
use super::args::{OpenArgs, Subject};
use super::client::Client;
use super::error::{CliError, Exit};
use super::output::write;
use super::query::{Add, Parameters, with_query};
use super::runtime::runtime;
use strandline_model::At;
use strandline_protocol::{Answer, Environment};
use strandline_syntax::percent_encode;

/// Runs the command.
pub(super) fn run(args: &OpenArgs) -> Result<(), CliError> {
    if args.server.data.is_some() {
        let why = "pages are served by a server, and --data asks none";
        return Err(CliError::new("opening a page", why)
            .hint("use --server, or a command that prints, such as `strandline tree`")
            .exit(Exit::Usage));
    }
    let client = Client::of(&args.server.address)?;
    let page = runtime()?.block_on(page(args, &client))?;
    let url = format!("{}{page}", client.server());
    write(&format!("{url}\n"))?;
    if args.print {
        return Ok(());
    }
    open::that_detached(&url).map_err(|error| {
        CliError::new("starting a browser", error).hint("open the address above, or print it with --print")
    })
}

/// The path of the page; a time is pinned by its offset, so that the page that was opened and its address stay the same.
async fn page(args: &OpenArgs, client: &Client) -> Result<String, CliError> {
    let past = args.server.at.is_some_and(|at| at != At::Now);
    let Some(subject) = &args.subject else { return Ok(with_query("/", &parameters(&args.server))) };
    match subject.strip_prefix("environment/").unwrap_or(subject) {
        id if !id.contains('/') => {
            let what = format!("opening {id}");
            let path = format!("/environments/{}", percent_encode(id));
            let answer = client.get(&what, &format!("/api/v1{path}"), &parameters(&args.server)).await?;
            let found: Answer<Environment> = typed(&what, answer)?;
            let at = past.then_some(found.metadata.offset);
            Ok(with_query(&path, &Parameters::new().add("at", at.as_slice())))
        }
        resource => {
            let wrong = |why| CliError::new(format!("opening {resource}"), why).exit(Exit::Usage);
            let subject: Subject = resource.parse().map_err(wrong)?;
            let Address { uid, cluster } = address::find(client, &args.server, &subject, &args.place).await?;
            let query = parameters(&args.server).add("cluster", cluster.as_slice());
            Ok(with_query(&format!("/resources/{}", percent_encode(uid.as_str())), &query))
        }
    }
}
