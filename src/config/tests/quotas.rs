//! What callers may declare, and how often.

use super::*;
use crate::catalog::QuotaConfig;

#[test]
fn each_quota_that_is_not_said_has_its_default() {
    let quotas = |text: &str| read(&format!("{CLUSTER}{text}")).unwrap().quotas;
    let default = QuotaConfig::default();
    assert_eq!(quotas(""), default);
    let reported = quotas("quotas: {environments: 7, writes_per_minute: 9}");
    assert_eq!(reported, QuotaConfig { environments: 7, writes_per_minute: 9, ..default });
    let bytes = |text: &str| quotas(&format!("quotas: {{bytes_per_day: {text}}}")).bytes_per_day;
    assert_eq!((bytes("64MiB"), bytes("1GB")), (default.bytes_per_day, 1_000_000_000));
    for wrong in ["64", "none", "0MiB", "-1MiB"] {
        let refused = read(&format!("{CLUSTER}quotas: {{bytes_per_day: {wrong}}}")).unwrap_err();
        assert!(refused.to_string().contains(&format!("invalid size `{wrong}`")), "{refused}");
    }
    let documented = include_str!("../../../docs/catalog.md");
    for (key, value) in [
        ("environments", default.environments),
        ("agents", default.agents),
        ("deployments", default.deployments),
        ("writes_per_minute", default.writes_per_minute),
    ] {
        assert!(
            documented.contains(&format!("  {key}: {value} ")),
            "docs/catalog.md says another default of {key}"
        );
    }
    assert!(documented.contains("  bytes_per_day: 64MiB "), "docs/catalog.md says another default");
    assert!(read(&format!("{CLUSTER}quotas: {{environment: 7}}")).is_err());
}
