//! The parts of the file about what clients may have open, and what caches may keep.

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::Limits;
use super::retention::bytes;
use crate::http::LoadLimits;
use crate::service::{CacheSize, ConnectionLimits};

/// Fewer connections leave no room for those who read pages.
const CONNECTIONS_MIN: usize = 16;

impl Check {
    pub(super) fn limits(&mut self, written: &Limits) -> ConnectionLimits {
        let usual = ConnectionLimits::default();
        let most = ConnectionLimits::CONNECTIONS_MAX;
        let connections = written.connections.as_ref().and_then(|connections| {
            self.limit(
                "connections",
                connections,
                CONNECTIONS_MIN,
                most,
                "a connection takes memory and an open file",
            )
        });
        let all = connections.unwrap_or(LoadLimits::default().connections);
        let why = "streams are connections, and others need some too: raise `connections`, or lower this";
        let streams = match &written.streams {
            Some(streams) => self.limit("streams", streams, 1, all - 1, why).unwrap_or(usual.streams),
            None => usual.streams.min(all - all / 4),
        };
        let why = "one caller cannot have more streams than all together";
        let streams_each = match &written.streams_each {
            Some(each) => self.limit("streams_each", each, 1, streams, why).unwrap_or(usual.streams_each),
            None => usual.streams_each.min(streams),
        };
        ConnectionLimits { connections, streams, streams_each }
    }

    pub(super) fn cache_size(&mut self, written: Option<&Spanned<String>>) -> CacheSize {
        let Some(written) = written else { return CacheSize::default() };
        let bytes = bytes(&written.value);
        let size = bytes.and_then(CacheSize::new);
        if size.is_none() {
            let why = if bytes.is_some() { "is too small" } else { "is no size" };
            let message = format!("`cache_size` {why}: `{}`", written.value);
            let hint = format!("write it as 128MiB or 1GiB, at least {}MiB", CacheSize::MIN.mib());
            self.report(written.referenced, "bad_size", message).hint = Some(hint);
        }
        size.unwrap_or_default()
    }

    fn limit(
        &mut self,
        key: &str,
        written: &Spanned<u64>,
        least: usize,
        most: usize,
        why: &str,
    ) -> Option<usize> {
        let value = usize::try_from(written.value).ok().filter(|value| (least..=most).contains(value));
        if value.is_none() {
            let message = format!("`{key}` is {}; it can be from {least} to {most}", written.value);
            self.report(written.referenced, "bad_limit", message).hint = Some(why.to_owned());
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::parse;

    #[test]
    fn the_size_of_caches_is_taken_with_its_unit_and_not_below_what_is_of_use() {
        let of = |text: &str| {
            let parsed = parse(&format!("cache_size: {text}\n"), Path::new("c.yaml"));
            parsed.map(|config| config.cache_size).map_err(|error| error.to_string())
        };
        // As where none is given.
        assert_eq!(of("160MiB"), Ok(CacheSize::default()));
        assert_eq!(of("2GiB"), Ok(CacheSize::new(2 << 30).unwrap_or_default()));
        assert_ne!(of("2GiB"), Ok(CacheSize::default()));
        for (text, expected) in [
            ("15MiB", "too small: `15MiB`"),
            ("none", "no size: `none`"),
            ("128", "no size: `128`"),
            ("-1MiB", "no size: `-1MiB`"),
        ] {
            let error = of(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn limits_are_taken_within_their_bounds() {
        let of = |text: &str| {
            let parsed = parse(&format!("limits: {text}\n"), Path::new("c.yaml"));
            parsed.map(|config| config.limits).map_err(|error| error.to_string())
        };
        let limits =
            |connections, streams, streams_each| Ok(ConnectionLimits { connections, streams, streams_each });
        assert_eq!(of("{}"), Ok(ConnectionLimits::default()));
        assert_eq!(
            of("{connections: 8000, streams: 6000, streams_each: 6000}"),
            limits(Some(8000), 6000, 6000)
        );
        assert_eq!(of("{connections: 100}"), limits(Some(100), 75, 32));
        assert_eq!(of("{connections: 16}"), limits(Some(16), 12, 12));
        for (text, expected) in [
            ("{connections: 15}", "from 16 to 100000"),
            ("{connections: 100001}", "from 16 to 100000"),
            ("{streams: 1024}", "from 1 to 1023"),
            ("{streams: 0}", "from 1 to 1023"),
            ("{connections: 100, streams: 100}", "from 1 to 99"),
            ("{streams: 10, streams_each: 11}", "from 1 to 10"),
            ("{streams: many}", "whole number"),
        ] {
            let error = of(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
