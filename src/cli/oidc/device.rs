//! The device authorization grant (RFC 8628): a code that somebody enters in a browser anywhere.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::{OidcError, Provider};
use crate::cli::contexts::OidcTokens;
use crate::http::auth::is_trustworthy;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// How long somebody may take at most, whatever the provider allows.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// How long is waited between two questions, where the provider does not say; and how much longer where it asks for that.
const INTERVAL: Duration = Duration::from_secs(5);

/// A provider that asks for longer waits gets these.
const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// What somebody has to do.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::cli) struct DeviceCode {
    device_code: String,
    /// What they enter.
    pub(in crate::cli) user_code: String,
    /// Where.
    pub(in crate::cli) verification_uri: String,
    /// The same with the code in it.
    pub(in crate::cli) verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

impl Provider {
    /// Whether there is such a grant.
    pub(in crate::cli) fn has_device_flow(&self) -> bool {
        self.description.device_authorization_endpoint.is_some()
    }

    /// Begins a login.
    pub(in crate::cli) async fn device_code(&self, scopes: &[String]) -> Result<DeviceCode, OidcError> {
        let Some(endpoint) = &self.description.device_authorization_endpoint else {
            return Err(OidcError::Wrong("it has no device authorization grant"));
        };
        let code: DeviceCode = self.document(endpoint, &[("scope", &scopes.join(" "))]).await?;
        let addresses = code.verification_uri_complete.iter().chain([&code.verification_uri]);
        if addresses.into_iter().all(|address| is_trustworthy(address)) {
            Ok(code)
        } else {
            Err(OidcError::Wrong("it names an address to open that is not https"))
        }
    }

    /// Waits until somebody has entered the code.
    pub(in crate::cli) async fn await_device(&self, code: &DeviceCode) -> Result<OidcTokens, OidcError> {
        let end = Instant::now() + Duration::from_secs(code.expires_in).min(LONGEST);
        let least = Duration::from_secs(1);
        let mut interval = code.interval.map_or(INTERVAL, Duration::from_secs).clamp(least, INTERVAL_MAX);
        let fields = [("grant_type", GRANT), ("device_code", code.device_code.as_str())];
        loop {
            if Instant::now() + interval > end {
                return Err(OidcError::Refused("expired_token".to_owned()));
            }
            sleep(interval).await;
            match self.tokens(&fields, None).await {
                Err(OidcError::Refused(word)) if word == "authorization_pending" => {}
                Err(OidcError::Refused(word)) if word == "slow_down" => {
                    interval = (interval + INTERVAL).min(INTERVAL_MAX);
                }
                // It may be back for the next question.
                Err(OidcError::Unreachable(_)) => interval = (interval * 2).min(INTERVAL_MAX),
                answered => return answered,
            }
        }
    }
}
