//! The part of the file about links to elsewhere.

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::File;
use crate::app::{LinkTemplate, LinkTemplates, OF_DEPLOYMENT, OF_ENVIRONMENT, OF_RESOURCE};

impl Check {
    pub(super) fn links(&mut self, file: &File) -> LinkTemplates {
        let links = &file.links;
        let resources = links.resources.iter().filter_map(|link| {
            let read = self.link(&link.label, &link.url, OF_RESOURCE)?;
            Some(read.of_kinds(&link.kinds))
        });
        let resources = resources.collect();
        let mut plain = |of: &[super::file::Link], known| {
            of.iter().filter_map(|link| self.link(&link.label, &link.url, known)).collect()
        };
        LinkTemplates {
            environments: plain(&links.environments, OF_ENVIRONMENT),
            deployments: plain(&links.deployments, OF_DEPLOYMENT),
            resources,
        }
    }

    fn link(
        &mut self,
        label: &str,
        url: &Spanned<String>,
        known: &'static [&'static str],
    ) -> Option<LinkTemplate> {
        if label.trim().is_empty() {
            self.report(url.referenced, "bad_link", "the link's `label` is empty");
            return None;
        }
        let read = LinkTemplate::parse(label, &url.value, known);
        read.map_err(|error| _ = self.report(url.referenced, "bad_link", error)).ok()
    }
}
