//! Pages of differences: readable without colours and scripts, and nothing that clusters wrote is more than text.

use super::super::diff::{rendered_environment, rendered_resource};
use super::{HOSTILE, holds, request, sound};
use crate::format::tests::{environment_changes, resource_changes, snapshot};
use strandline_model::EnvironmentId;
use strandline_protocol::{Answer, ChangeType};

#[test]
fn an_environment_tells_resource_by_resource_what_changed() {
    let asked = request("/environments/{id}/diff", "from=1h&include=metadata,status&ignore=spec.replicas");
    let page = rendered_environment(&asked, &environment_changes());
    sound(&page);
    holds(
        &page,
        &[
            "<h1>Changes of shop.web.production</h1>",
            "name=\"from\" value=\"1h\"",
            "<input type=\"hidden\" name=\"ignore\" value=\"spec.replicas\">",
            "href=\"/resources/web/diff?from=1000&#38;at=1234&#38;cluster=eu-west\">~ Deployment.apps shop/web   changed, ✔ Healthy → ✖ Degraded</a>",
            "href=\"/resources/web-config?at=1234&#38;cluster=eu-west\">+ ConfigMap shop/web-config   added</a>",
            "<del>-   web:<mark>1</mark></del><ins>+   web:<mark>2</mark></ins>",
            "<i>  (children: Pod 1 added, 1 removed, 1 changed)</i>",
            "1 added, 1 changed, 3 controller updates, 2 with hidden differences, 3 unchanged",
            "aria-current=\"true\">With status</a>",
            "/api/v1/environments/{id}/diff?from=1h&#38;include=metadata%2Cstatus&#38;ignore=spec.replicas&#38;format=text",
        ],
    );
}

#[test]
fn two_environments_stand_beside_each_other() {
    let mut found = environment_changes();
    found.to.id = EnvironmentId::new("shop.web.staging");
    found.names = vec!["production:staging".into()];
    found.counts.renamed = 12;
    found.items[1].change = ChangeType::Different;
    found.metadata.next = Some("token".into());
    let page =
        rendered_environment(&request("/environments/{id}/diff", "with=shop.web.staging&at=2h"), &found);
    sound(&page);
    holds(
        &page,
        &[
            "<h1>shop.web.production compared with shop.web.staging</h1>",
            "value=\"shop.web.staging\"",
            "production:staging; 12 texts differ only in such names: \
             <a href=\"/environments/{id}/diff?with=shop.web.staging&#38;at=2h&#38;map=none\">show</a>",
            "href=\"/resources/web?at=1234&#38;cluster=eu-west\">~ Deployment.apps shop/web   different",
            "href=\"/environments/{id}/diff?with=shop.web.staging&#38;at=2h&#38;continue=token\">More</a>",
        ],
    );
    found.items.clear();
    holds(
        &rendered_environment(&request("/environments/{id}/diff", ""), &found),
        &["No differences in the compared parts"],
    );
}

#[test]
fn a_resource_tells_its_two_versions() {
    let answer = |value| Answer { value, metadata: snapshot() };
    let page = rendered_resource(&request("/resources/{uid}/diff", "at=1200"), &answer(resource_changes()));
    sound(&page);
    holds(
        &page,
        &[
            "<h1>Changes of Deployment web</h1>",
            "offset 1000, 2026-11-20 11:00:00 UTC, does not exist",
            "version of 2026-11-20 12:00:00 UTC by kubectl",
            "<b>  spec.template.spec.containers[name=web].image</b>",
            "1 difference</dd>",
            "aria-current=\"true\">Without noise</a>",
        ],
    );
    assert!(!page.contains("with another"), "one resource is compared with itself alone");
}

#[test]
fn nothing_in_differences_is_more_than_text() {
    let mut found = environment_changes();
    let item = &mut found.items[1];
    item.key.name = HOSTILE.into();
    item.comparison.differences[0].path = HOSTILE.into();
    item.comparison.differences[0].before = Some(HOSTILE.into());
    item.comparison.differences[0].after = Some(serde_json::json!({HOSTILE: [HOSTILE]}));
    item.children[0].kind = HOSTILE.into();
    found.names = vec![HOSTILE.into()];
    sound(&rendered_environment(&request("/environments/{id}/diff", ""), &found));
    let mut one = resource_changes();
    one.key.name = HOSTILE.into();
    one.comparison = found.items[1].comparison.clone();
    sound(&rendered_resource(
        &request("/resources/{uid}/diff", ""),
        &Answer { value: one, metadata: snapshot() },
    ));
}
