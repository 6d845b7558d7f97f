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
    assert!(read(&format!("{CLUSTER}quotas: {{environment: 7}}")).is_err());
}
