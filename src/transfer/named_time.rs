//! The time of a dump, from the name of its file.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use strandline_model::Timestamp;

// A pattern of ours either compiles in every test or in none.
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?:^|[^0-9])([0-9]{4})-?([0-9]{2})-?([0-9]{2})[T_ .-]?([0-9]{2})[:h_.-]?([0-9]{2})(?:[:m_.-]?([0-9]{2}))?(?:$|[^0-9])";
    Regex::new(pattern).ok()
});

/// The moment in a file's name, such as `pods-2026-11-20T09-00-00Z.yaml` or `dump_20261120-0900.json`; always UTC.
pub fn time_in_name(path: &Path) -> Option<Timestamp> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let found = TIME.as_ref()?.captures(&name)?;
    let part = |n: usize| found.get(n).map_or("00", |part| part.as_str());
    let [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(part);
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_moments_in_several_ways() {
        for (name, expected) in [
            ("pods-2026-11-20T09-00-05Z.yaml", Some("2026-11-20T09:00:05Z")),
            ("/dumps/20261120T0900.json", Some("2026-11-20T09:00:00Z")),
            ("eu-1_2026-11-20_09.30.yaml.gz", Some("2026-11-20T09:30:00Z")),
            ("2026-11-20 09:30:01", Some("2026-11-20T09:30:01Z")),
            ("20261120090001.json", Some("2026-11-20T09:00:01Z")),
            ("pods-2026-11-20.yaml", None),
            ("pods-2026-13-20T09-00.yaml", None),
            ("run-1234567890123456.json", None),
            ("pods.yaml", None),
            ("/", None),
        ] {
            let found = time_in_name(Path::new(name)).map(|time| time.to_string());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }
}
