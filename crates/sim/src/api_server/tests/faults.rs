//! Every fault does what it says, and only that.

use std::time::Duration;

use super::{ApiServer, CONFIG_MAPS, Lines, config_map, get, server};
use crate::api_server::{Fault, Faults};
use strandline_model::Kind;

async fn watch(server: &ApiServer) -> Lines {
    let version = server.resource_version();
    Lines::open(server, &format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}")).await
}

#[tokio::test]
async fn a_lost_delete_is_found_by_a_list_only() {
    let server = server().await;
    server.apply(config_map("a", 0));
    server.apply(config_map("b", 0));
    let mut lines = watch(&server).await;
    server.faults().next(Fault::LostDelete, 1);
    server.delete("", "ConfigMap", "shop", "a");
    let version = server.delete("", "ConfigMap", "shop", "b");
    assert_eq!(lines.brief().await.unwrap(), ("DELETED".into(), "b".into(), version));
    assert!(server.objects("", "ConfigMap").is_empty());
    assert_eq!(get(&server, CONFIG_MAPS).await.1["items"].as_array().unwrap().len(), 0);
    assert_eq!(server.faults().struck(Fault::LostDelete), 1);
}

#[tokio::test]
async fn events_are_repeated_and_swapped() {
    let server = server().await;
    let mut lines = watch(&server).await;
    server.faults().next(Fault::RepeatedEvent, 1);
    let first = server.apply(config_map("a", 0));
    assert_eq!(lines.brief().await.unwrap().2, first);
    assert_eq!(lines.brief().await.unwrap().2, first);
    server.faults().next(Fault::SwappedEvents, 1);
    let second = server.apply(config_map("b", 0));
    assert!(lines.quiet().await, "held until another object's event");
    let third = server.apply(config_map("c", 0));
    assert_eq!(lines.brief().await.unwrap().2, third);
    assert_eq!(lines.brief().await.unwrap().2, second);
    server.faults().next(Fault::SwappedEvents, 1);
    let fourth = server.apply(config_map("a", 1));
    let fifth = server.apply(config_map("a", 2));
    assert_eq!(lines.brief().await.unwrap().2, fourth, "events of one object keep their order");
    assert_eq!(lines.brief().await.unwrap().2, fifth);
    server.faults().next(Fault::SwappedEvents, Faults::ALWAYS);
    let sixth = server.apply(config_map("a", 3));
    assert!(lines.quiet().await);
    server.faults().clear();
    assert_eq!(lines.brief().await.unwrap().2, sixth, "clearing lets go");
}

#[tokio::test]
async fn watches_end_in_all_the_ways_they_can() {
    let server = server().await;
    server.faults().next(Fault::ClosedWatch, 1);
    let mut closed = watch(&server).await;
    assert_eq!((closed.status, closed.text().await), (200, None));
    server.faults().next(Fault::GoneAtStart, 1);
    assert_eq!(watch(&server).await.status, 410);
    let mut gone = watch(&server).await;
    server.faults().next(Fault::GoneInStream, 1);
    server.apply(config_map("a", 0));
    let event = gone.event().await.unwrap();
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)));
    assert_eq!(gone.text().await, None);
    let mut cut = watch(&server).await;
    server.faults().next(Fault::TruncatedLine, 1);
    server.apply(config_map("a", 1));
    assert_eq!(cut.text().await, None);
    assert!(!cut.buffer.is_empty(), "half a line stays");
    let mut garbled = watch(&server).await;
    server.faults().next(Fault::GarbageLine, 1);
    let version = server.apply(config_map("a", 2));
    let line = garbled.text().await.unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&line).is_err(), "{line}");
    assert_eq!(garbled.brief().await.unwrap().2, version);
    server.faults().next(Fault::SilentWatch, 1);
    let mut silent = watch(&server).await;
    server.apply(config_map("a", 3));
    assert!(silent.quiet().await);
}

#[tokio::test]
async fn requests_are_refused_by_kind_or_all() {
    let server = server().await;
    let pods = Kind::new("", "Pod");
    server.faults().refuse(Some(pods.clone()), 403);
    assert_eq!(get(&server, "/api/v1/pods").await.0, 403);
    assert_eq!(get(&server, CONFIG_MAPS).await.0, 200);
    server.faults().refuse(None, 401);
    assert_eq!(get(&server, CONFIG_MAPS).await.0, 401);
    assert_eq!(get(&server, "/api").await.0, 401);
    assert_eq!(get(&server, "/api/v1/pods").await.0, 403, "the closer rule holds");
    server.faults().allow(None);
    assert_eq!(get(&server, "/api").await.0, 200);
    server.faults().allow(Some(&pods));
    assert_eq!(get(&server, "/api/v1/pods").await.0, 200);
    assert_eq!(server.requests_of("", "Pod").refused, 2);
    server.faults().next(Fault::InternalError, 1);
    assert_eq!(get(&server, CONFIG_MAPS).await.0, 500);
    assert_eq!(get(&server, CONFIG_MAPS).await.0, 200);
    server.faults().next(Fault::ExpiredPage, 1);
    server.apply(config_map("a", 0));
    server.apply(config_map("b", 0));
    let (_, page) = get(&server, &format!("{CONFIG_MAPS}?limit=1")).await;
    let token = page["metadata"]["continue"].as_str().unwrap();
    assert_eq!(get(&server, &format!("{CONFIG_MAPS}?limit=1&continue={token}")).await.0, 410);
    server.faults().next(Fault::NoStreamingList, 1);
    let streaming = format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    assert_eq!(Lines::open(&server, &streaming).await.status, 422);
    assert_eq!(Lines::open(&server, &streaming).await.status, 200);
}

#[tokio::test]
async fn a_server_hangs_stops_and_comes_back_on_its_port() {
    let server = server().await;
    let url = server.url();
    server.apply(config_map("a", 0));
    server.faults().next(Fault::Hang, 1);
    let hanging = tokio::time::timeout(Duration::from_millis(100), get(&server, CONFIG_MAPS)).await;
    assert!(hanging.is_err());
    let mut lines = watch(&server).await;
    server.stop().await;
    let ended = tokio::time::timeout(Duration::from_secs(10), lines.body.as_mut().get_mut().frame_or_end());
    assert!(ended.await.is_ok(), "open watches end with the server");
    let address = url.trim_start_matches("http://").to_owned();
    assert!(tokio::net::TcpStream::connect(&address).await.is_err());
    let elsewhere = tokio::net::TcpSocket::new_v4().unwrap();
    assert!(elsewhere.bind(address.parse().unwrap()).is_err(), "nobody gets its port meanwhile");
    server.start_again().await.unwrap();
    assert_eq!(server.url(), url);
    assert_eq!(get(&server, CONFIG_MAPS).await.1["items"].as_array().unwrap().len(), 1);
}

trait FrameOrEnd {
    async fn frame_or_end(&mut self);
}

impl FrameOrEnd for hyper::body::Incoming {
    /// Waits for the stream to say anything: here its end or a broken connection.
    async fn frame_or_end(&mut self) {
        let _ = http_body_util::BodyExt::frame(self).await;
    }
}

#[tokio::test]
async fn a_storm_is_the_same_for_the_same_seed() {
    let strikes = |seed| {
        let (wake, _) = tokio::sync::watch::channel(0);
        let faults = Faults::new(wake);
        faults.storm(seed, 200);
        (0..100).map(|lane| faults.strikes(Fault::GoneInStream, lane % 3)).collect::<Vec<_>>()
    };
    assert_eq!(strikes(1), strikes(1));
    assert_ne!(strikes(1), strikes(2));
    assert!(strikes(1).contains(&true) && strikes(1).contains(&false));
}
