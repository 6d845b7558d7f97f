//! Who may ask, and who may not.

use std::fmt;

use super::Teller;
use crate::http::Access;

pub(super) fn encode(tell: &mut Teller<'_, '_>, access: &Access) -> fmt::Result {
    let none: &[(&str, &str)] = &[];
    let current = i64::from(access.problem().is_none());
    let help = "1 while who may ask is as the configuration says, 0 while that cannot be read again";
    tell.gauges("access_configuration_current", help, [(none, current)])?;
    let tokens = access.config().tokens;
    let ends = tokens.iter().filter_map(|token| {
        let expires = token.expires?.as_micros() / 1_000_000;
        Some(([("token", token.name.as_str())], expires))
    });
    let help = "When each token that expires does, in seconds since 1970";
    tell.gauges("token_expiry_timestamp_seconds", help, ends)?;
    let (refused, slowed) = access.wrong_tokens();
    let wrong = [([("answer", "refused")], refused), ([("answer", "asked_to_wait")], slowed)];
    tell.counters("wrong_tokens", "Tokens that are not known, by what they were answered with", wrong)
}
