//! Settings that may change while the service runs.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::watch::Sender;
use tokio_util::sync::CancellationToken;

use super::tasks::Tasks;

/// A setting; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Setting<T>(Sender<T>);

impl<T: Clone + PartialEq> Setting<T> {
    pub(super) fn new(value: T) -> Self {
        Setting(Sender::new(value))
    }

    /// Puts another value in the place of the present one; whether it differs.
    pub(super) fn replace(&self, value: T) -> bool {
        self.0.send_if_modified(|present| {
            let differs = *present != value;
            *present = value;
            differs
        })
    }

    /// Starts a task that goes by the value: it is begun anew with each other value, and whenever it panics or ends of itself.
    pub(super) fn keep<F>(
        &self,
        tasks: &Tasks,
        name: &'static str,
        run: impl Fn(T, CancellationToken) -> F + Send + Sync + 'static,
    ) where
        T: Send + Sync + 'static,
        F: Future<Output = ()> + Send,
    {
        let (setting, run) = (self.clone(), Arc::new(run));
        tasks.keep(name, move |stop| {
            let (setting, run) = (setting.clone(), Arc::clone(&run));
            async move { setting.follow(stop, &*run).await }
        });
    }

    /// Runs what goes by the value, anew with each other value, until `stop`.
    async fn follow<F: Future<Output = ()>>(
        &self,
        stop: CancellationToken,
        run: impl Fn(T, CancellationToken) -> F,
    ) {
        let mut changes = self.0.subscribe();
        loop {
            let value = changes.borrow_and_update().clone();
            let until = stop.child_token();
            let mut running = pin!(run(value, until.clone()));
            tokio::select! {
                () = &mut running => return,
                // It cannot fail: this holds a sender.
                _ = changes.changed() => {}
            }
            until.cancel();
            running.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn what_goes_by_a_setting_runs_anew_with_each_other_value() {
        let (setting, stop, seen) = (Setting::new(1), CancellationToken::new(), Mutex::new(Vec::new()));
        let run = |value, until: CancellationToken| {
            let (setting, stop, seen) = (&setting, &stop, &seen);
            async move {
                seen.lock().expect("no test panics here").push(value);
                match value {
                    1 => assert!(!setting.replace(1) && setting.replace(2)),
                    _ => stop.cancel(),
                }
                until.cancelled().await;
            }
        };
        setting.follow(stop.clone(), run).await;
        assert_eq!(*seen.lock().expect("no test panics here"), [1, 2]);
    }
}
