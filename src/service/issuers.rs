//! Fetches the keys of issuers of tokens, again and again.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::http::Authenticator;
use crate::http::auth::REFRESH;

/// How often an issuer is asked again that could not be reached.
const RETRY: Duration = Duration::from_secs(30);

/// Fetches them until `stop`.
pub(super) async fn follow(access: Arc<Authenticator>, stop: CancellationToken) {
    let fetching = async {
        loop {
            access.refresh_issuers().await;
            let all = access.issuer_problems().is_empty();
            tokio::time::sleep(if all { REFRESH } else { RETRY }).await;
        }
    };
    stop.run_until_cancelled(fetching).await;
}
