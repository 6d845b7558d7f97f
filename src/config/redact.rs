//! The part of the file about what is hidden before it is recorded.

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::{File, LeaveOut};
use strandline_redact::{Choices, LeftOut};

impl Check {
    pub(super) fn redact(&mut self, file: &File) -> Choices {
        let written = &file.redact;
        let (hide, keep) = (self.credential_names(&written.names), self.credential_names(&written.keep));
        if let Some(both) = written.keep.iter().find(|name| hide.contains(&name.value)) {
            let message = format!("`{}` is in `names` and in `keep`", both.value);
            self.report(both.referenced, "conflict", message).hint = Some("remove one of them".to_owned());
        }
        let left_out = written.leave_out.iter().filter_map(|entry| self.left_out_of_record(entry)).collect();
        Choices::new(&hide, &keep, left_out)
    }

    fn credential_names(&mut self, written: &[Spanned<String>]) -> Vec<String> {
        let mut names = Vec::new();
        for name in written {
            if name.value.chars().any(|c| c.is_ascii_alphabetic()) {
                names.push(name.value.clone());
            } else {
                let message = format!("invalid value name `{}`", name.value);
                self.report(name.referenced, "bad_name", message).hint =
                    Some("write it in words, such as partner-code or PARTNER_CODE".to_owned());
            }
        }
        names
    }

    fn left_out_of_record(&mut self, entry: &LeaveOut) -> Option<LeftOut> {
        for namespace in &entry.namespaces {
            self.namespace(namespace);
        }
        let texts = |written: &[Spanned<String>]| written.iter().map(|text| text.value.clone()).collect();
        let kind = self.pattern(&entry.kind.value, entry.kind.referenced)?;
        Some(LeftOut { kind, namespaces: texts(&entry.namespaces), names: texts(&entry.names) })
    }
}
