//! What differences leave out.

use super::*;

#[test]
fn what_differences_leave_out_is_read_and_a_mistake_has_its_place() {
    let text = format!(
        "{CLUSTER}diff:\n  ignore:\n    - spec.replicas\n    - 'Deployment.apps:metadata.annotations[*]'\n"
    );
    let ignored: Vec<String> =
        read(&text).unwrap().presentation.ignored.iter().map(ToString::to_string).collect();
    assert_eq!(ignored, ["spec.replicas", "Deployment.apps:metadata.annotations[*]"]);
    assert!(read(CLUSTER).unwrap().presentation.ignored.is_empty());
    let error = read(&format!("{CLUSTER}diff: {{ignore: [spec..replicas]}}\n")).unwrap_err().to_string();
    assert!(error.contains(":2:17: invalid path `spec..replicas`: a name is missing"), "{error}");
}
