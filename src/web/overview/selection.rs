//! What the address of the start page asks for.

use crate::app::selection;
use crate::format::visible;
use crate::http::params::{
    AGENT, CLUSTERS, CONTINUE, GROUP, GROUP_BY, HEALTH, LABELS, NAME, ORDER, PROJECT, Parameter, REGION,
    STATE, TIER, VIEW,
};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::web::chip::{Chip, Choice};
use crate::web::field::Field;
use crate::web::rail::Span;
use crate::web::render::sentence;

use strandline_model::{At, EnvironmentFilter, GroupBy, Health, SavedView, Tier};
use strandline_protocol::Trend;
use strandline_query::{
    FilterValues, GetOverview, GetOverviews, OverviewOrder, OverviewRows, PageRequest, TrendFilter,
};
use strandline_syntax::{Glob, LabelSelector};

/// What is asked for.
pub(super) struct Selection {
    pub(super) at: At,
    pub(super) filter: EnvironmentFilter,
    pub(super) group_by: Vec<GroupBy>,
    /// The view from which it comes.
    pub(super) view: Option<SavedView>,
    /// In which order environments are, and after which page.
    pub(super) order: OverviewOrder,
    pub(super) after: Option<String>,
    /// Whether the page is for a screen on the wall.
    pub(super) wall: bool,
    /// What its rail spans.
    pub(super) span: Span,
}

/// The most groups, environments and cards of one page, so that a page stays small whatever there is.
const GROUPS_MAX: usize = 60;
const ROWS_MAX: usize = 50;
pub(super) const CARDS_MAX: usize = 6;

/// The most values that a field suggests.
pub(super) const SUGGESTIONS_MAX: usize = 50;

/// Whether the page is for a screen on the wall.
pub(in super::super) const WALL: Parameter = Parameter::one("wall");

/// The word for all tiers, which only pages know.
const ALL: &str = "all";

impl Selection {
    /// Production is what people come for, so it is what a bare address shows.
    pub(super) fn read(views: &[SavedView], request: &Request) -> Result<Self, Problem> {
        Self::of(selection::view(views, request)?.cloned(), request)
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
        let order = read.word(ORDER).unwrap_or_default();
        let after = read.text(CONTINUE);
        let span = Span::read(&mut read);
        let wall = request.query.one(WALL).is_some_and(|text| !matches!(text, "0" | "false"));
        read.finish()?;
        if all {
            filter.tiers.clear();
        }
        if group_by.is_empty() {
            group_by.push(GroupBy::Region);
        }
        Ok(Selection { at, filter, group_by, view, order, after, wall, span })
    }

    /// The question for the groups, which are of all healths so that another can be chosen, and for a day of health.
    pub(super) fn overview(&self) -> GetOverview {
        let filter = EnvironmentFilter { healths: Vec::new(), ..self.filter.clone() };
        let trend = TrendFilter { since: None, buckets: Trend::BUCKETS_DEFAULT };
        GetOverview {
            filter,
            group_by: self.group_by.clone(),
            limit: Some(GROUPS_MAX),
            trend: Some(trend),
            environments: None,
        }
    }

    /// The question for the groups, for the map of two groupings, those of the page or groups of projects beside its only
    /// one, and for the environments of the page where these are of all healths as well.
    pub(super) fn overviews(&self) -> GetOverviews {
        let mut by = self.group_by.clone();
        if let [only] = by.as_slice() {
            let other = if *only == GroupBy::Group { GroupBy::Region } else { GroupBy::Group };
            by.insert(usize::from(other == GroupBy::Region), other);
        }
        let first = if self.filter.healths.is_empty() {
            GetOverview { environments: self.rows().environments, ..self.overview() }
        } else {
            self.overview()
        };
        GetOverviews { first, also_by: vec![by] }
    }

    /// The question for the environments of the page.
    pub(super) fn rows(&self) -> GetOverview {
        let page = PageRequest { limit: ROWS_MAX, after: self.after.clone() };
        GetOverview {
            filter: self.filter.clone(),
            environments: Some(OverviewRows { order: self.order, page }),
            trend: None,
            ..self.overview()
        }
    }

    /// The question for those that need attention most, whatever the order of the page.
    pub(super) fn urgent(&self) -> GetOverview {
        let page = PageRequest { limit: CARDS_MAX, after: None };
        let environments = Some(OverviewRows { page, ..OverviewRows::default() });
        GetOverview { environments, limit: Some(1), ..self.rows() }
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
}

/// The words of a list, as an address has them.
fn joined<T: ToString>(list: &[T]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The filters that hold, those of a view among them.
pub(super) fn chips(request: &Request, selection: &Selection) -> Vec<Chip> {
    let filter = &selection.filter;
    let all = [
        ("Tier", TIER, joined(&filter.tiers)),
        ("Region", REGION, joined(&filter.regions)),
        ("Health", HEALTH, joined(&filter.healths)),
        ("Group", GROUP, joined(&filter.groups)),
        ("Project", PROJECT, joined(&filter.projects)),
        ("Name", NAME, joined(&filter.names)),
        ("Cluster", CLUSTERS, joined(&filter.clusters)),
        ("Agent", AGENT, joined(&filter.agents)),
        ("Labels", LABELS, filter.labels.to_string()),
        ("State", STATE, states(filter)),
    ];
    let chip = |(label, parameter, value): (&'static str, Parameter, String)| {
        // A bare address shows production, so that all tiers are said.
        let without = (parameter == TIER).then_some(ALL);
        let given = selection.view.is_none() || parameter == TIER || request.query.one(parameter).is_some();
        let href = given.then(|| format!("/{}", request.query.with(&[(parameter, without)])));
        Chip { label, value: visible(&value).replace(',', ", "), href }
    };
    all.into_iter().filter(|(.., value)| !value.is_empty()).map(chip).collect()
}

/// The form; it says all that is asked for, also what comes from a view, so that any of it can be changed.
pub(super) struct Form {
    pub(super) tiers: Vec<Choice>,
    pub(super) regions: Vec<Choice>,
    pub(super) healths: Vec<Choice>,
    pub(super) groupings: Vec<Choice>,
    pub(super) fields: Vec<Field>,
    /// Values that fields suggest, by the name of the field.
    pub(super) suggestions: Vec<(&'static str, Vec<String>)>,
    /// Whether something in it is wrong, so that it is to be seen.
    pub(super) is_wrong: bool,
    /// What it keeps without showing it.
    pub(super) hidden: Vec<(&'static str, String)>,
}

impl Form {
    /// The form for a selection, with the regions, groups and clusters that there are.
    pub(super) fn new(
        request: &Request,
        selection: &Selection,
        FilterValues { regions, groups, clusters }: &FilterValues,
    ) -> Self {
        let filter = &selection.filter;
        // A view's own filter stands there too, so what is shown is what was understood, where it was.
        let field = |parameter: Parameter, label, value: String, example| {
            let field = Field::new(request, parameter, label, example);
            let value = if field.wrong.is_some() { field.value } else { value };
            let list = match parameter {
                GROUP => "group-values",
                CLUSTERS => "cluster-values",
                _ => "",
            };
            Field { value: visible(&value).into_owned(), list, ..field }
        };
        let view = selection.view.as_ref().map(|view| view.name.clone()).unwrap_or_default();
        let kept = [(AGENT, joined(&filter.agents)), (STATE, states(filter)), (VIEW, view)];
        let offered = |names: &[String]| {
            names.iter().filter(|name| !name.is_empty() && visible(name) == **name).cloned().collect()
        };
        let fields = vec![
            field(GROUP, "Group", joined(&filter.groups), "shop"),
            field(PROJECT, "Project", joined(&filter.projects), "shop/web or shop/**"),
            field(NAME, "Name", joined(&filter.names), "review/**"),
            field(CLUSTERS, "Cluster", joined(&filter.clusters), "eu-west"),
            field(LABELS, "Labels", filter.labels.to_string(), "team=payments"),
        ];
        Form {
            tiers: tiers(filter),
            regions: choices(regions.iter().cloned(), &filter.regions),
            healths: choices(Health::ALL.map(|health| health.to_string()), &words(&filter.healths)),
            groupings: groupings(selection),
            is_wrong: fields.iter().any(|field| field.wrong.is_some()),
            fields,
            suggestions: vec![(GROUP.name, offered(groups)), (CLUSTERS.name, offered(clusters))],
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

fn groupings(selection: &Selection) -> Vec<Choice> {
    choices(GroupBy::WORDS.map(|(word, _)| word.to_owned()), &self::words(&selection.group_by))
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
