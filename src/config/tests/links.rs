//! Links to elsewhere.

use super::*;

#[test]
fn templates_are_read_and_mistakes_have_their_places() {
    let text = "links:\n  environments:\n    - {label: Logs, url: \"https://x/?c={cluster}\"}\n  deployments:\n    - {label: Job, url: \"https://g/{project}/-/jobs/{job_id}\"}\n  resources:\n    - {label: Metrics, url: \"https://m/{name}\", kinds: [Pod]}\n";
    let links = read(text).unwrap().presentation.links;
    assert_eq!((links.environments.len(), links.deployments.len()), (1, 1));
    assert_eq!(links.resources[0].kinds, ["Pod"]);
    check(
        "links:\n  environments:\n    - {label: Logs, url: \"https://x/{pod}\"}\n",
        &[
            "3:26: unknown value `{pod}`; use one of {id}, {project}, {name}, {slug}, {tier}, {region}, {cluster}, {namespace}, {time}",
        ],
        None,
    );
    check(
        "links:\n  resources:\n    - {label: X, url: \"javascript:alert(1)\"}\n",
        &["3:23: `javascript:alert(1)` is no web address; begin it with https:// or http://"],
        None,
    );
}
