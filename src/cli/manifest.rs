//! `strandline manifest`: what installs this server in a cluster, without Helm.
//!
//! Why it is a file of the chart's: docs/decisions/0031-manifests-are-rendered-from-the-chart.md.

use super::error::CliError;
use super::output::write;

/// Rendered from deploy/chart/strandline, as a test checks.
const MANIFEST: &str = include_str!("../../deploy/manifests/strandline.yaml");

/// Runs the command.
pub(super) fn run() -> Result<(), CliError> {
    write(MANIFEST)
}
