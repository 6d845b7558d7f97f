//! Clients of clusters.

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use tower::{BoxError, ServiceBuilder};

/// How much of an answer a connection reads at once: a record of TLS has no more. It keeps as much for as long as it lasts, and each
/// watch has one: with half a megabyte, as a client has it by itself, the watches of a hundred clusters took 200 MB.
const READ_BYTES: usize = 16 * 1024;

/// A client by this configuration.
pub(super) fn client(config: kube::Config) -> kube::Result<kube::Client> {
    if config.proxy_url.is_some() {
        // Ways through proxies are kube's own.
        return kube::Client::try_from(config);
    }
    let mut tcp = HttpConnector::new();
    // An address with https is for the TLS around it.
    tcp.enforce_http(false);
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let http = Client::builder(TokioExecutor::new()).http1_max_buf_size(READ_BYTES).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(kube::Client::new(service, config.default_namespace))
}
