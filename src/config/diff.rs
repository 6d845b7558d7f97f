//! The part of the file about what differences leave out.

use super::check::Check;
use super::file::File;
use strandline_object_diff::PathRule;

impl Check {
    pub(super) fn diff(&mut self, file: &File) -> Vec<PathRule> {
        let mut rules = Vec::new();
        for written in &file.diff.ignore {
            match written.value.parse() {
                Ok(rule) => rules.push(rule),
                Err(error) => _ = self.report(written.referenced, "bad_path", error),
            }
        }
        rules
    }
}
