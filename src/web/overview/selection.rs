//! What the address of the start page asks for.

use crate::app::{AppState, selection};
use crate::format::visible;
use crate::http::params::{
    AGENT, CLUSTERS, GROUP, GROUP_BY, HEALTH, LABELS, NAME, PROJECT, Parameter, REGION, STATE, TIER, VIEW,
};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::web::field::Field;
use crate::web::render::sentence;

use strandline_model::{At, EnvironmentFilter, GroupBy, Health, SavedView, Tier};
use strandline_query::GetOverview;
use strandline_syntax::{Glob, LabelSelector};

/// What is asked for.
pub(super) struct Selection {
    pub(super) at: At,
    pub(super) filter: EnvironmentFilter,
    pub(super) group_by: Vec<GroupBy>,
    /// The view from which it comes.
    pub(super) view: Option<SavedView>,
    /// Whether the address says by what to group.
    pub(super) grouped: bool,
}

/// The word for all tiers, which only pages know.
const ALL: &str = "all";

impl Selection {
    /// Production is what people come for, so it is what a bare address shows.
    pub(super) fn read(state: &AppState, request: &Request) -> Result<Self, Problem> {
        Self::of(selection::view(state, request)?.cloned(), request)
    }

    pub(super) fn of(view: Option<SavedView>, request: &Request) -> Result<Self, Problem> {
        let base = view.clone().unwrap_or_else(|| SavedView {
            filter: EnvironmentFilter { tiers: vec![Tier::Production], ..EnvironmentFilter::default() },
            ..SavedView::default()
        });
        let all = request.query.reader().texts(TIER) == [ALL];
        let query = if all { request.query.without(TIER) } else { request.query.clone() };
        let mut read = query.reader();
        let at = read.at();
        let mut filter = selection::filter(&mut read, &base.filter).in_use_by_default();
        let mut group_by = selection::group_by(&mut read, &base.group_by);
        read.finish()?;
        if all {
            filter.tiers.clear();
        }
        let grouped = !group_by.is_empty();
        if !grouped {
            group_by.push(GroupBy::Region);
        }
        Ok(Selection { at, filter, group_by, view, grouped })
    }

    /// The question for the groups, which speak of all healths so that another can be chosen.
    pub(super) fn overview(&self) -> GetOverview {
        let filter = EnvironmentFilter { healths: Vec::new(), ..self.filter.clone() };
        GetOverview { filter, group_by: self.group_by.clone(), ..GetOverview::default() }
    }

    /// The question for the regions that there are to choose from.
    pub(super) fn regions(&self) -> GetOverview {
        let GetOverview { filter, .. } = self.overview();
        let filter = EnvironmentFilter { regions: Vec::new(), ..filter };
        GetOverview { filter, ..GetOverview::default() }
    }

    /// What is shown, in a few words.
    pub(super) fn heading(&self) -> String {
        match (&self.view, self.filter.tiers.as_slice()) {
            (Some(view), _) => visible(&view.title).into_owned(),
            (None, []) => "All environments".into(),
            (None, tiers) => sentence(&joined(tiers)),
        }
    }

    /// Whether tables show of which tier an environment is.
    pub(super) fn several_tiers(&self) -> bool {
        self.filter.tiers.len() != 1
    }

    /// Whether the tables stand by region, as the groups do.
    pub(super) fn by_region(&self) -> bool {
        self.group_by == [GroupBy::Region]
    }
}

/// The words of a list, as an address has them.
fn joined<T: ToString>(list: &[T]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// An option of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) chosen: bool,
}

/// The form; it says all that is asked for, also what comes from a view, so that any of it can be changed.
pub(super) struct Form {
    pub(super) tiers: Vec<Choice>,
    pub(super) regions: Vec<Choice>,
    pub(super) healths: Vec<Choice>,
    pub(super) groupings: Vec<Choice>,
    pub(super) fields: Vec<Field>,
    /// What it keeps without showing it.
    pub(super) hidden: Vec<(&'static str, String)>,
}

impl Form {
    /// The form for a selection, with the regions and labels that there are.
    pub(super) fn new(
        request: &Request,
        selection: &Selection,
        regions: &[String],
        labels: &[String],
    ) -> Self {
        let filter = &selection.filter;
        // A view's own filter stands there too, so what is shown is what was understood, where it was.
        let field = |parameter: Parameter, label, value: String, example| {
            let field = Field::new(request, parameter, label, example);
            let value = if field.wrong.is_some() { field.value } else { value };
            Field { value: visible(&value).into_owned(), ..field }
        };
        let kept = [(AGENT, joined(&filter.agents)), (STATE, states(filter))];
        Form {
            tiers: tiers(filter),
            regions: choices(regions.iter().cloned(), &filter.regions),
            healths: choices(Health::ALL.map(|health| health.to_string()), &words(&filter.healths)),
            groupings: groupings(selection, labels),
            fields: vec![
                field(GROUP, "Group", joined(&filter.groups), "shop"),
                field(PROJECT, "Project", joined(&filter.projects), "shop/web or shop/**"),
                field(NAME, "Name", joined(&filter.names), "review/**"),
                field(CLUSTERS, "Cluster", joined(&filter.clusters), "eu-west"),
                field(LABELS, "Labels", filter.labels.to_string(), "team=payments"),
            ],
            hidden: kept
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(parameter, value)| (parameter.name, value))
                .collect(),
        }
    }
}

/// The states, where they are not those that are meant where nothing is said.
fn states(filter: &EnvironmentFilter) -> String {
    if filter.states == EnvironmentFilter::IN_USE { String::new() } else { joined(&filter.states) }
}

fn words<T: ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// What there is to choose from; several that are chosen together are a choice of their own.
fn choices(there: impl IntoIterator<Item = String>, chosen: &[String]) -> Vec<Choice> {
    let mut list: Vec<_> = there.into_iter().collect();
    let value = chosen.join(",");
    if !chosen.is_empty() && !list.contains(&value) {
        list.push(value.clone());
    }
    // A name with something hidden in it could not be told apart in a list, so it is not offered.
    list.retain(|name| !name.is_empty() && visible(name) == *name);
    let choice = |value_of: String| Choice {
        label: value_of.replace(',', ", "),
        chosen: !chosen.is_empty() && value_of == value,
        value: value_of,
    };
    list.into_iter().map(choice).collect()
}

fn tiers(filter: &EnvironmentFilter) -> Vec<Choice> {
    let mut tiers = choices(Tier::ALL.map(|tier| tier.to_string()), &words(&filter.tiers));
    tiers.iter_mut().for_each(|choice| choice.label = sentence(&choice.label));
    tiers.push(Choice { value: ALL.into(), label: "All tiers".into(), chosen: filter.tiers.is_empty() });
    tiers
}

fn groupings(selection: &Selection, labels: &[String]) -> Vec<Choice> {
    let words = GroupBy::WORDS.map(|(word, _)| word.to_owned());
    let labels = labels.iter().map(|name| GroupBy::Label(name.clone()).to_string());
    choices(words.into_iter().chain(labels), &self::words(&selection.group_by))
}

/// What of an address narrows it to one key; none where no address can say that.
pub(super) fn narrowing(selection: &Selection, by: &GroupBy, key: &str) -> Option<(Parameter, String)> {
    // Commas part values, and an empty key is what is not known.
    if key.is_empty() || key.contains(',') {
        return None;
    }
    let plain = |parameter| Some((parameter, key.to_owned()));
    match by {
        GroupBy::Tier => plain(TIER),
        GroupBy::Region => plain(REGION),
        GroupBy::Group => plain(GROUP),
        GroupBy::Cluster => plain(CLUSTERS),
        GroupBy::Agent => plain(AGENT),
        GroupBy::State => plain(STATE),
        GroupBy::Health => plain(HEALTH),
        GroupBy::Project => Some((PROJECT, Glob::literal(key))),
        GroupBy::Label(name) => {
            let own = &selection.filter.labels;
            let comma = if own.is_empty() { "" } else { "," };
            let narrowed = format!("{own}{comma}{name}={key}");
            narrowed.parse::<LabelSelector>().is_ok().then_some((LABELS, narrowed))
        }
    }
}

/// Where the same selection is grouped in another way.
pub(super) fn regrouped(request: &Request, by: &str) -> String {
    format!("/{}", request.query.with(&[(GROUP_BY, Some(by))]))
}

/// Where a view is shown, at the moment that `keep` holds.
pub(super) fn of_view(keep: &str, name: &str) -> String {
    let joint = if keep.is_empty() { "?" } else { "&" };
    format!("/{keep}{joint}{}={}", VIEW.name, strandline_syntax::percent_encode(name))
}
