//! How many cases the properties among the tests are held against, and texts that are kept beside the code.
//!
//! A plain `cargo test` plays the same cases each time (`PROPTEST_RNG_SEED` in `.cargo/config.toml`), so that a failure
//! speaks of the change at hand. `just laws` plays others, and as many as are wanted.

use std::path::Path;

use proptest::test_runner::Config;

/// Few cases of something that takes its time; `STRANDLINE_LAWS` times as many where that is set.
pub fn cases(few: u32) -> Config {
    let times = std::env::var("STRANDLINE_LAWS").ok().and_then(|times| times.parse().ok());
    Config::with_cases(few.saturating_mul(times.unwrap_or(1)))
}

/// How many of what takes long an ordinary run plays: a fifth, and all of it where `STRANDLINE_FULL` is set, as by `just full`.
pub fn few_of(all: u32) -> u32 {
    if std::env::var_os("STRANDLINE_FULL").is_some() { all } else { all / 5 }
}

/// Holds a text against the one that is kept in a file, whose path begins at the top of this repository. With `STRANDLINE_GOLDEN=write` it takes its
/// place instead, to be read before it is committed.
pub fn golden(path: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("STRANDLINE_GOLDEN").is_some_and(|how| how == "write") {
        assert!(std::fs::write(&file, found).is_ok(), "{path} cannot be written");
        return;
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let lines = kept.lines().zip(found.lines()).position(|(kept, found)| kept != found);
    let line = lines.unwrap_or(kept.lines().count().min(found.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("nothing").to_owned();
    assert!(
        kept == found,
        "{path}:{} differs from the generated text:\n  kept:  {}\n  found: {}\nWhere that is meant, write it anew with \
         STRANDLINE_GOLDEN=write and the same test, and read what it says.",
        line + 1,
        at(&kept),
        at(found)
    );
}
