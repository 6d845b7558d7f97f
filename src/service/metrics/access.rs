//! Who may ask, who may not, and until when the certificate is valid.

use std::fmt;

use crate::http::Authenticator;
use crate::http::tls::Tls;
use crate::service::metric_writer::MetricWriter;

pub(super) fn encode(out: &mut MetricWriter<'_, '_>, access: &Authenticator) -> fmt::Result {
    let none: &[(&str, &str)] = &[];
    let current = i64::from(access.problem().is_none());
    let help = "1 while what is in effect is what the configuration file says, 0 after reloading it failed";
    out.gauges("config_last_reload_successful", help, [(none, current)])?;
    let config = access.config();
    let failed = access.issuer_problems();
    let issuers = config
        .issuers
        .iter()
        .map(|issuer| ([("issuer", issuer.name.as_str())], i64::from(!failed.contains(&issuer.name))));
    let help = "1 while the signing keys of an issuer are those that it has, 0 after fetching them failed";
    out.gauges("issuer_keys_current", help, issuers)?;
    let reviews = access.reviews();
    let up = reviews.iter().map(|(cluster, up, _)| ([("cluster", cluster.as_str())], i64::from(*up)));
    let help = "1 while a cluster reviews tokens, 0 after a review failed";
    out.gauges("token_review_up", help, up)?;
    let counted = reviews.iter().flat_map(|(cluster, _, counts)| {
        let results = [
            ("accepted", counts.accepted),
            ("refused", counts.refused),
            ("failed", counts.failed),
            ("limited", counts.limited),
        ];
        results.map(|(result, count)| ([("cluster", cluster.as_str()), ("result", result)], count))
    });
    let help = "Tokens that a cluster was to review, by what came of it; limited ones it was not asked about";
    out.counters("token_reviews", help, counted)?;
    let asked = access.access_reviews();
    let up = asked.iter().map(|(cluster, up, _)| ([("cluster", cluster.as_str())], i64::from(*up)));
    let help = "1 while a cluster says who may read in it, 0 after asking it failed";
    out.gauges("access_review_up", help, up)?;
    let counted = asked.iter().flat_map(|(cluster, _, counts)| {
        let results = [("allowed", counts.allowed), ("denied", counts.denied), ("failed", counts.failed)];
        results.map(|(result, count)| ([("cluster", cluster.as_str()), ("result", result)], count))
    });
    let help = "Questions to a cluster whether somebody may read in it, by what came of them";
    out.counters("access_reviews", help, counted)?;
    let sessions = i64::try_from(access.sessions()).unwrap_or(i64::MAX);
    out.gauges("sessions", "Browsers that are logged in", [(none, sessions)])?;
    let tokens = config.tokens;
    let ends = tokens.iter().filter_map(|token| {
        let expires = token.expires?.as_micros() / 1_000_000;
        Some(([("token", token.name.as_str())], expires))
    });
    let help = "Expiry time of each token that has one, in seconds since 1970";
    out.gauges("token_expiry_timestamp_seconds", help, ends)?;
    let (refused, slowed) = access.wrong_tokens();
    let wrong = [([("answer", "refused")], refused), ([("answer", "asked_to_wait")], slowed)];
    out.counters("wrong_tokens", "Requests with an unknown token, by answer", wrong)
}

/// The certificate of the server.
pub(super) fn encode_tls(out: &mut MetricWriter<'_, '_>, tls: Option<&Tls>) -> fmt::Result {
    let Some(tls) = tls else { return Ok(()) };
    let none: &[(&str, &str)] = &[];
    let help = "1 while the certificate in use is that of its files, 0 after reloading them failed";
    out.gauges("tls_certificate_current", help, [(none, i64::from(tls.is_current()))])?;
    let end = tls.not_after().map(|end| (none, end.as_micros() / 1_000_000));
    out.gauges(
        "tls_certificate_expiry_timestamp_seconds",
        "Expiry time of the certificate in use, in seconds since 1970",
        end,
    )
}
