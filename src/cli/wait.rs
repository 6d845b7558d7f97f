//! `strandline wait`: until an environment has some health.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::answers::typed;
use super::args::WaitArgs;
use super::client::Client;
use super::error::{CliError, Exit};
use super::follow::{AGAIN, Follow};
use super::output::write;
use super::query::{Add, Parameters};
use crate::format::{lasted, visible, word};
use strandline_model::{EnvironmentId, Health};
use strandline_protocol::{Answer, Environment, WatchedEnvironment};
use strandline_syntax::percent_encode;

/// Longer than anybody waits.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Waits, and says what it came to.
pub(super) async fn wait(args: &WaitArgs) -> Result<(), CliError> {
    let client = Client::of(&args.address)?;
    let waiting = Waiting { args, client, what: format!("waiting for {}", args.environment) };
    let end = Instant::now() + args.timeout.min(LONGEST);
    let found = waiting.read().await?;
    let mut last = found.value.health.state;
    if !waiting.is_met(last) {
        // What is there now was looked at in any case, however short the time.
        let met = timeout_at(end, waiting.until_met(found, &mut last)).await;
        met.unwrap_or_else(|_| Err(waiting.timed_out(last)))?;
    }
    write(&format!("environment/{} is {}\n", visible(args.environment.as_str()), word(last)))
}

struct Waiting<'a> {
    args: &'a WaitArgs,
    client: Client,
    what: String,
}

impl Waiting<'_> {
    async fn read(&self) -> Result<Answer<Environment>, CliError> {
        let path = format!("/api/v1/environments/{}", percent_encode(self.args.environment.as_str()));
        typed(&self.what, self.client.get(&self.what, &path, &[]).await?)
    }

    /// Until it has that health, which was `last` seen; a server that is started again is waited for.
    async fn until_met(
        &self,
        mut found: Answer<Environment>,
        last: &mut Option<Health>,
    ) -> Result<(), CliError> {
        loop {
            if self.follow(&found, last).await? {
                return Ok(());
            }
            found = loop {
                match self.read().await {
                    Err(error) if error.exit == Exit::Failure => tokio::time::sleep(AGAIN).await,
                    read => break read?,
                }
            };
            *last = found.value.health.state;
            if self.is_met(*last) {
                return Ok(());
            }
        }
    }

    /// Whether it came to that health; otherwise it is to be read again.
    async fn follow(&self, found: &Answer<Environment>, last: &mut Option<Health>) -> Result<bool, CliError> {
        // All environments of the project: a name may have signs that a pattern takes for its own.
        let query = Parameters::new()
            .add("project", &[&found.value.project])
            .add("state", &["available", "stopping", "stopped"]);
        let offset = found.metadata.offset;
        let mut stream = Follow::new(&self.client, &self.what, "/api/v1/watch", &query, offset);
        while let Some(event) = stream.next().await? {
            let value =
                serde_json::from_str(&event.data).map_err(|error| CliError::new(&self.what, error))?;
            let watched: WatchedEnvironment = typed(&self.what, value)?;
            if watched.id != self.args.environment {
                continue;
            }
            let Some(environment) = watched.environment else { return Err(self.gone(&watched.id)) };
            *last = environment.health.state;
            if self.is_met(*last) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_met(&self, health: Option<Health>) -> bool {
        health.is_some_and(|health| self.args.condition.0.contains(&health))
    }

    fn gone(&self, id: &EnvironmentId) -> CliError {
        CliError::new(&self.what, format!("environment {id} does not exist any more")).exit(Exit::NotFound)
    }

    fn timed_out(&self, last: Option<Health>) -> CliError {
        let (time, health) = (lasted(self.args.timeout), word(last));
        CliError::new(&self.what, format!("timed out after {time}; its health is {health}"))
            .hint(format!("see `strandline why {}`", self.args.environment))
    }
}
