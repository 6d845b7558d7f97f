//! What this program was built from; `build.rs` finds it out without reading a clock.

use serde::Serialize;

use strandline_model::Timestamp;

/// What this program was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BuildInfo {
    /// The version.
    pub version: &'static str,
    /// The commit; `unknown` in builds for development.
    pub commit: &'static str,
    /// The date of that commit, or what `SOURCE_DATE_EPOCH` said; `unknown` in builds for development.
    pub build_date: String,
    /// For which machines it is.
    pub target: &'static str,
}

impl BuildInfo {
    /// Of this program.
    pub fn current() -> Self {
        BuildInfo {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("STRANDLINE_BUILD_COMMIT"),
            build_date: date(env!("STRANDLINE_BUILD_EPOCH")).unwrap_or_else(|| "unknown".to_owned()),
            target: target(),
        }
    }
}

/// The architecture and the system.
const fn target() -> &'static str {
    match (cfg!(target_arch = "x86_64"), cfg!(target_arch = "aarch64"), cfg!(target_os = "linux")) {
        (true, _, true) => "linux/amd64",
        (_, true, true) => "linux/arm64",
        _ => std::env::consts::OS,
    }
}

/// Seconds since 1970 as a time; none where there are none.
fn date(epoch: &str) -> Option<String> {
    let seconds: i64 = epoch.parse().ok()?;
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_date_is_read_from_seconds() {
        assert_eq!(date("1790000000").as_deref(), Some("2026-09-21T14:13:20Z"));
        for absent in ["", "x", "9999999999999999999"] {
            assert_eq!(date(absent), None, "{absent}");
        }
        assert!(!BuildInfo::current().commit.is_empty());
    }
}
