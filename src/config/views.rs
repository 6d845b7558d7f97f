//! The part of the file about overviews that have a name.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use serde_saphyr::{Location, Spanned};

use super::check::Check;
use super::file::{File, View, ViewFilter};
use strandline_model::{EnvironmentFilter, EnvironmentId, GroupBy, SavedView};
use strandline_syntax::Glob;

impl Check {
    pub(super) fn views(&mut self, file: &File) -> Vec<SavedView> {
        let mut lines: HashMap<&str, u64> = HashMap::new();
        let mut views = Vec::new();
        for view in &file.views {
            let (name, at) = (&view.name.value, view.name.referenced);
            if !EnvironmentId::new(name.as_str()).is_plain() {
                let message = format!("invalid view name `{name}`");
                self.report(at, "bad_name", message).hint =
                    Some("use letters, digits, `-`, `_` and `.`".to_owned());
            }
            if let Some(line) = lines.insert(name, at.line()) {
                self.report(at, "duplicate", format!("duplicate view `{name}`, first in line {line}"));
            }
            views.push(self.view(view));
        }
        views
    }

    fn view(&mut self, view: &View) -> SavedView {
        let name = view.name.value.clone();
        let group_by: Vec<GroupBy> = self.all(&view.group_by);
        if let Some(conflict) = GroupBy::conflict(&group_by) {
            let at = view.group_by.first().map_or(view.name.referenced, |first| first.referenced);
            self.report(at, "bad_view", format!("`group_by`: {conflict}"));
        }
        let title = view.title.clone().unwrap_or_else(|| name.clone());
        SavedView { title, filter: self.filter(&view.filter), group_by, name }
    }

    fn filter(&mut self, filter: &ViewFilter) -> EnvironmentFilter {
        EnvironmentFilter {
            search: String::new(),
            tiers: self.all(&filter.tier),
            regions: filter.region.clone(),
            projects: self.globs(&filter.project),
            groups: self.all(&filter.group),
            clusters: filter.cluster.clone(),
            agents: self.all(&filter.agent),
            states: self.all(&filter.state),
            names: self.globs(&filter.name),
            healths: self.all(&filter.health),
            labels: self.labels(filter.labels.as_ref()),
        }
    }

    fn globs(&mut self, written: &[Spanned<String>]) -> Vec<Glob> {
        let globs = self.all(written);
        if let Some(conflict) = EnvironmentFilter::conflict(&globs) {
            let at = written.first().map_or(Location::UNKNOWN, |first| first.referenced);
            self.report(at, "bad_view", conflict);
        }
        globs
    }

    /// Reads words, each with its own place.
    fn all<T>(&mut self, written: &[Spanned<String>]) -> Vec<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        let mut read = Vec::new();
        for word in written {
            match T::from_str(&word.value) {
                Ok(value) => read.push(value),
                Err(error) => _ = self.report(word.referenced, "bad_view", error.to_string()),
            }
        }
        read
    }
}
