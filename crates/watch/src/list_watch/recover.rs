//! What follows from a request that failed.

use super::machine::ListWatch;
use super::state::{Restart, State};
use crate::outcome::{Activity, Recovery, decide};
use crate::request::Failure;
use crate::sink::Sink;
use strandline_log::AppendError;

impl<S: Sink> ListWatch<S> {
    /// Records the gap that a failure is, and backs off; `resume` is what follows where the cursor stays good.
    pub(super) async fn recover(
        &mut self,
        activity: Activity,
        failure: &Failure,
        resume: State,
        restart: &Restart,
    ) -> Result<State, AppendError> {
        let recovery = decide(activity, failure);
        tracing::debug!(watch = %self.watch, ?activity, %failure, ?recovery, "the request failed");
        if let Some(gap) = recovery.gap() {
            self.coverage.gap(gap, failure.to_string()).await?;
        }
        if matches!(failure, Failure::Unreachable(_)) {
            // Where another way answers, the supervisor does not find out by itself that this one leads nowhere.
            self.connection.mark_stale();
        }
        let relist = || State::Begin(restart.clone().with_list());
        let (after, then) = match recovery {
            Recovery::Relist { .. } => (None, relist()),
            Recovery::RelistAfterOutage { after } => (after, relist()),
            Recovery::Resume { .. } => (None, resume),
            Recovery::RenewCredentials => {
                if let Err(error) = self.connection.renew().await {
                    tracing::debug!(watch = %self.watch, %error, "reloading the credentials failed");
                }
                (None, resume)
            }
        };
        Ok(self.back_off(after, then))
    }
}
