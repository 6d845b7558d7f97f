//! How many cases the properties among the tests are held against.
//!
//! A plain `cargo test` plays the same cases each time (`PROPTEST_RNG_SEED` in `.cargo/config.toml`), so that a failure
//! speaks of the change at hand. `just laws` plays others, and as many as are wanted.

use proptest::test_runner::Config;

/// Few cases of something that takes its time; `STRANDLINE_LAWS` times as many where that is set.
pub(crate) fn cases(few: u32) -> Config {
    let times = std::env::var("STRANDLINE_LAWS").ok().and_then(|times| times.parse().ok());
    Config::with_cases(few.saturating_mul(times.unwrap_or(1)))
}
