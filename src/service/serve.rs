//! Runs a service until the process is asked to end.

use std::sync::Arc;

use super::end;
use super::error::ServiceError;
use super::options::Options;
use super::running::Service;
use super::systemd;
use strandline_clock::SystemClock;

/// Serves with these options until the process is asked to end.
///
/// # Errors
/// When the options cannot be carried out or a part fails.
pub fn serve(options: Options) -> Result<(), ServiceError> {
    end::run(|asked| async move {
        tracing::info!(data = %options.data.display(), "recording");
        let starting = Service::start(options, Arc::new(SystemClock));
        let Some(started) = asked.run_until_cancelled(starting).await else { return Ok(()) };
        let service = started?;
        let scheme = if service.encrypted { "https" } else { "http" };
        let url = format!("{scheme}://{}", service.address);
        tracing::info!("listening on {url}");
        systemd::report_ready(&url);
        let stop = async move {
            asked.cancelled_owned().await;
            systemd::report_stopping();
        };
        service.run_until(stop).await
    })
}
