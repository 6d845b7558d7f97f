//! What pages have in common that list what happened across environments: filters as chips and as a form, when the list
//! begins, and where it goes on.

use std::time::Duration;

use super::chip::{Chip, Choice};
use super::field::Field;
use super::render::sentence;
use super::shell::Time;
use crate::format::visible;
use crate::http::params::{
    AGENT, CLUSTERS, CONTINUE, FORMAT, GROUP, LABELS, NAME, PROJECT, Parameter, REGION, SINCE, STATE, TIER,
    UNTIL,
};
use crate::http::request::Request;
use strandline_model::{At, Tier, Timestamp};
use strandline_protocol::PageMetadata;

/// A feed as a page shows it.
pub(super) struct Feed {
    /// Where the page is, and where the API has the same.
    pub(super) path: &'static str,
    pub(super) api: &'static str,
    /// What is to be seen of whom, for those who cannot see the form.
    pub(super) label: &'static str,
    /// What it is filtered by besides environments and time.
    pub(super) own: &'static [Filter],
    /// How far back it goes where that is not asked for; none if as far as there is anything.
    pub(super) back: Option<Duration>,
}

/// A filter of a page.
#[derive(Clone, Copy)]
pub(super) struct Filter {
    pub(super) label: &'static str,
    pub(super) parameter: Parameter,
    pub(super) form: Form,
    /// Whether it has a chip.
    pub(super) chip: bool,
}

/// How a form has a filter.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// As a line of text, with an example.
    Text(&'static str),
    /// As a choice of words, with what it means to choose none.
    Words(&'static str, fn() -> Vec<&'static str>),
    /// Not to be changed, but kept.
    Kept,
}

/// A day, which is how far back a feed goes that would be long otherwise.
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);

/// The filters of environments that all feeds have, in the order of their chips.
const BEFORE: [Filter; 8] = [
    Filter::text("Group", GROUP, "shop"),
    Filter::text("Project", PROJECT, "shop/web or shop/**"),
    Filter::text("Region", REGION, "eu"),
    Filter::text("Cluster", CLUSTERS, "eu-west"),
    Filter::kept("Name", NAME),
    Filter::kept("Agent", AGENT),
    Filter::kept("Labels", LABELS),
    Filter::kept("State", STATE),
];
const AFTER: [Filter; 2] =
    [Filter::text("Since", SINCE, "1h, yesterday 14:05"), Filter::text("Until", UNTIL, "now, 14:05")];

impl Filter {
    pub(super) const fn text(label: &'static str, parameter: Parameter, example: &'static str) -> Self {
        Filter { label, parameter, form: Form::Text(example), chip: true }
    }

    pub(super) const fn words(
        label: &'static str,
        parameter: Parameter,
        none: &'static str,
        words: fn() -> Vec<&'static str>,
    ) -> Self {
        Filter { label, parameter, form: Form::Words(none, words), chip: true }
    }

    pub(super) const fn kept(label: &'static str, parameter: Parameter) -> Self {
        Filter { label, parameter, form: Form::Kept, chip: true }
    }

    /// The tiers of environments.
    pub(super) const TIER: Filter =
        Filter::words("Tier", TIER, "All tiers", || Tier::ALL.map(Tier::as_str).to_vec());
}

/// A choice of one of several words.
pub(super) struct Select {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) none: &'static str,
    pub(super) choices: Vec<Choice>,
}

/// The form of a feed with what was given.
pub(super) struct FeedForm {
    pub(super) action: &'static str,
    pub(super) label: &'static str,
    /// When the list begins.
    pub(super) since: Option<Time>,
    pub(super) chips: Vec<Chip>,
    pub(super) selects: Vec<Select>,
    pub(super) fields: Vec<Field>,
    /// What has no field, by its name.
    pub(super) hidden: Vec<(&'static str, String)>,
    /// Whether something in the form is wrong, so that it is to be seen.
    pub(super) is_wrong: bool,
    pub(super) next: Option<String>,
    /// What of the filter fits nothing.
    pub(super) warnings: Vec<String>,
    pub(super) atom: String,
    pub(super) csv: String,
    pub(super) json: String,
}

impl Feed {
    /// The form for a request that has been answered so.
    pub(super) fn form(&self, request: &Request, answered: &PageMetadata, now: Timestamp) -> FeedForm {
        let filters =
            || [Filter::TIER].into_iter().chain(BEFORE).chain(self.own.iter().copied()).chain(AFTER);
        let (mut selects, mut fields, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
        for Filter { label, parameter, form, .. } in filters() {
            match form {
                Form::Text(example) => {
                    let field = Field::new(request, parameter, label, example);
                    fields.push(Field { value: visible(&field.value).into_owned(), ..field });
                }
                Form::Words(none, words) => {
                    let choices = choices(request, parameter, &words());
                    selects.push(Select { name: parameter.name, label, none, choices });
                }
                Form::Kept => {
                    let values = request.query.all(parameter.name);
                    hidden.extend(values.map(|value| (parameter.name, value.to_owned())));
                }
            }
        }
        let chip = |filter: Filter| Chip::given(request, self.path, filter.label, filter.parameter);
        FeedForm {
            action: self.path,
            label: self.label,
            since: self.beginning(request, now),
            chips: filters().filter(|filter| filter.chip).filter_map(chip).collect(),
            selects,
            is_wrong: fields.iter().any(|field| field.wrong.is_some()),
            fields,
            hidden,
            next: answered
                .next
                .as_deref()
                .map(|token| address(self.path, request, &[(CONTINUE, Some(token))])),
            warnings: answered.warnings.iter().map(|it| visible(&it.message).into_owned()).collect(),
            atom: self.export(request, Some("atom")),
            csv: self.export(request, Some("csv")),
            json: self.export(request, None),
        }
    }

    /// The same list by the API in another form.
    pub(super) fn export(&self, request: &Request, format: Option<&str>) -> String {
        address(self.api, request, &[(FORMAT, format)])
    }

    /// The same page with other parameters.
    pub(super) fn with(&self, request: &Request, changes: &[(Parameter, Option<&str>)]) -> String {
        address(self.path, request, changes)
    }

    /// When what is listed begins; not told where an offset says it.
    fn beginning(&self, request: &Request, now: Timestamp) -> Option<Time> {
        let since = match request.query.reader().moment(SINCE) {
            None => now.minus(self.back?),
            Some(At::Now) => now,
            Some(At::Ago(duration)) => now.minus(duration),
            Some(At::Time(time)) => time,
            Some(At::Offset(_)) => return None,
        };
        Some(Time::new(since, now))
    }
}

/// What a request asks for, from its beginning on, with other parameters.
fn address(path: &str, request: &Request, changes: &[(Parameter, Option<&str>)]) -> String {
    let mut all = vec![(CONTINUE, None)];
    all.extend_from_slice(changes);
    format!("{path}{}", request.query.with(&all))
}

/// What there is to choose from; several that are chosen together are a choice of their own.
fn choices(request: &Request, parameter: Parameter, words: &[&'static str]) -> Vec<Choice> {
    let chosen = request.query.reader().texts(parameter).join(",").to_lowercase();
    let several = (!chosen.is_empty() && !words.contains(&chosen.as_str())).then(|| chosen.clone());
    let all = words.iter().copied().map(str::to_owned).chain(several);
    let choice = |value: String| Choice {
        label: sentence(&visible(&value).replace(',', ", ")),
        chosen: value == chosen,
        value,
    };
    all.map(choice).collect()
}
