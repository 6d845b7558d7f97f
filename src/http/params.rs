//! Query parameters: decoded once, known to the route, and read with an answer that says what would be valid.

use std::str::FromStr;
use std::time::Duration;

use super::percent::decode;
use super::problem::{ParameterError, Problem};
use strandline_model::{At, Timestamp, parse_duration};
use strandline_protocol::HealthHistory;
use strandline_query::{HealthFilter, PageRequest};
use strandline_syntax::{LabelSelector, SelectorError, percent_encode};

/// A parameter of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it may be given several times, and hold several values parted by commas.
    pub many: bool,
}

impl Parameter {
    /// May be given once.
    pub const fn one(name: &'static str) -> Self {
        Parameter { name, many: false }
    }

    /// May be given several times.
    pub const fn many(name: &'static str) -> Self {
        Parameter { name, many: true }
    }
}

/// The moment.
pub const AT: Parameter = Parameter::one("at");
/// The zone of times that name none.
pub const TZ: Parameter = Parameter::one("tz");
/// Most items in a page.
pub const LIMIT: Parameter = Parameter::one("limit");
/// Token of the next page.
pub const CONTINUE: Parameter = Parameter::one("continue");
/// Only these tiers.
pub const TIER: Parameter = Parameter::many("tier");
/// Only these regions.
pub const REGION: Parameter = Parameter::many("region");
/// Only projects that match.
pub const PROJECT: Parameter = Parameter::many("project");
/// Only projects below these groups; groups that a job's project belongs to.
pub const GROUP: Parameter = Parameter::many("group");
/// Only what these agents serve.
pub const AGENT: Parameter = Parameter::many("agent");
/// Only names that match.
pub const NAME: Parameter = Parameter::many("name");
/// Only what carries such labels; its commas belong to one value.
pub const LABELS: Parameter = Parameter::one("labels");
/// By what environments stand together.
pub const GROUP_BY: Parameter = Parameter::many("group_by");
/// An overview that the configuration names.
pub const VIEW: Parameter = Parameter::one("view");
/// Only these healths.
pub const HEALTH: Parameter = Parameter::many("health");
/// Only these kinds.
pub const KIND: Parameter = Parameter::many("kind");
/// Only what stands directly below this one.
pub const OWNER: Parameter = Parameter::one("owner");
/// In which order.
pub const ORDER: Parameter = Parameter::one("order");
/// Where to begin.
pub const UNDER: Parameter = Parameter::one("under");
/// Levels that are shown below the first.
pub const DEPTH: Parameter = Parameter::one("depth");
/// What stands together.
pub const COLLAPSE: Parameter = Parameter::one("collapse");
/// Where a span of time begins.
pub const SINCE: Parameter = Parameter::one("since");
/// Which health's beginning to look for.
pub const HEALTH_ONE: Parameter = Parameter::one("health");
/// How long before it changes are looked at.
pub const WINDOW: Parameter = Parameter::one("window");
/// After which time a stream ends.
pub const TIMEOUT: Parameter = Parameter::one("timeout");
/// Equal parts of a span of time.
pub const BUCKETS: Parameter = Parameter::one("buckets");
/// Only these lanes of a timeline.
pub const LANE: Parameter = Parameter::many("lane");
/// Whether also what is below a resource is told of.
pub const BELOW: Parameter = Parameter::one("below");
/// The earlier of two moments, or where a span of time begins.
pub const FROM: Parameter = Parameter::one("from");
/// The later of two moments, or where a span of time ends.
pub const TO: Parameter = Parameter::one("to");
/// Which classes of differences are told besides the spec.
pub const INCLUDE: Parameter = Parameter::many("include");
/// Paths that are of no interest; their commas belong to one value.
pub const IGNORE: Parameter = Parameter::many("ignore");
/// The form of an answer.
pub const FORMAT: Parameter = Parameter::one("format");
/// The environment to compare with.
pub const WITH: Parameter = Parameter::one("with");
/// Parts of names that stand for each other, as `here:there`.
pub const MAP: Parameter = Parameter::many("map");
/// Whether what controllers made is told one by one.
pub const CHILDREN: Parameter = Parameter::one("children");
/// Only these types of Events.
pub const TYPE: Parameter = Parameter::many("type");
/// Only these reasons.
pub const REASON: Parameter = Parameter::many("reason");
/// Which cluster, where several hold the uid.
pub const CLUSTER: Parameter = Parameter::one("cluster");
/// Only these clusters.
pub const CLUSTERS: Parameter = Parameter::many("cluster");
/// Only these states, of coverage or of environments.
pub const STATE: Parameter = Parameter::many("state");
/// Whether versions carry their object.
pub const BODIES: Parameter = Parameter::one("bodies");
/// Only those to this environment; the environment of a job.
pub const ENVIRONMENT: Parameter = Parameter::one("environment");
/// Only these statuses of deployments.
pub const STATUS: Parameter = Parameter::many("status");
/// The project of a job.
pub const PROJECT_ONE: Parameter = Parameter::one("project");
/// The branch or tag of a job.
pub const REF: Parameter = Parameter::one("ref");
/// Whether a job's ref is a tag.
pub const TAG: Parameter = Parameter::one("tag");
/// Whether a job's ref is protected.
pub const PROTECTED: Parameter = Parameter::one("protected");
/// The namespace that a job asks for.
pub const NAMESPACE: Parameter = Parameter::one("namespace");
/// Only these images.
pub const IMAGE: Parameter = Parameter::many("image");
/// Fields of an object; commas belong to one value.
pub const FIELD: Parameter = Parameter::many("field");
/// Whether what is gone is found.
pub const GONE: Parameter = Parameter::one("gone");
/// Variables of a job, each as NAME=value.
pub const VAR: Parameter = Parameter::many("var");
/// Whether a probe lists its checks; its value does not matter.
pub const VERBOSE: Parameter = Parameter::one("verbose");

/// The parameters of a request; all of them known to the route, and none empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
    /// The clock's reading that times in it refer to; none of a query that is only written again.
    now: Option<Timestamp>,
    /// Parameters that were named without a value.
    bare: Vec<String>,
    /// Values that a page leaves out, to say at their fields what is wrong with them.
    refused: Vec<Refused>,
}

/// A value that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Of which parameter.
    pub parameter: String,
    /// As it was given; several values are joined by commas.
    pub value: String,
    /// What is wrong with it, and what would be valid.
    pub detail: String,
}

impl Query {
    /// Reads what stands after the question mark, against the parameters that a route knows.
    ///
    /// A parameter without a value counts as absent, since forms send every field.
    pub fn parse(raw: &str, known: &[Parameter]) -> Result<Self, Problem> {
        let mut query = Query::default();
        let mut errors = Vec::new();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?);
            let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
                errors.push(unknown(name, known));
                continue;
            };
            if value.is_empty() {
                query.bare.push(name);
                continue;
            }
            if !parameter.many && query.all(parameter.name).next().is_some() {
                errors.push(ParameterError { parameter: name, detail: "must not be repeated".into() });
                continue;
            }
            query.pairs.push((name, value));
        }
        if errors.is_empty() { Ok(query) } else { Err(Problem::parameters(errors)) }
    }

    /// All values of a parameter as given.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All parameters in the order in which they were given.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a parameter.
    pub fn one(&self, parameter: Parameter) -> Option<&str> {
        self.all(parameter.name).next()
    }

    /// Whether a parameter is named at all, be it without a value.
    pub fn mentions(&self, parameter: Parameter) -> bool {
        self.one(parameter).is_some() || self.bare.iter().any(|name| name == parameter.name)
    }

    /// The query as text, with some parameters replaced or, by none, left out; with its question mark. Times of day stand
    /// in it as instants, so that it asks for the same tomorrow.
    pub fn with(&self, changes: &[(Parameter, Option<&str>)]) -> String {
        let settled = times::settled(self);
        let changed = |name: &str| changes.iter().any(|(parameter, _)| parameter.name == name);
        let kept = settled.pairs.iter().filter(|(name, _)| !changed(name));
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let new = changes.iter().filter_map(|(parameter, value)| Some((parameter.name, (*value)?)));
        let mut out = String::new();
        for (name, value) in kept.chain(new) {
            out.push(if out.is_empty() { '?' } else { '&' });
            out.push_str(&format!("{}={}", percent_encode(name), percent_encode(value)));
        }
        out
    }

    /// Whether it holds times that are not the same instant whenever and wherever it is asked.
    pub fn names_times_of_day(&self) -> bool {
        times::settled(self).pairs != self.pairs
    }

    /// The same, whose times refer to this reading of the clock.
    #[must_use]
    pub fn asked_at(self, now: Timestamp) -> Self {
        Query { now: Some(now), ..self }
    }

    /// The query without a parameter.
    #[must_use]
    pub fn without(&self, parameter: Parameter) -> Self {
        let mut rest = self.clone();
        rest.pairs.retain(|(name, _)| name != parameter.name);
        rest
    }

    /// The query with the values of two parameters in each other's place.
    #[must_use]
    pub fn swapped(&self, one: Parameter, other: Parameter) -> Self {
        let mut swapped = self.clone();
        for (name, _) in &mut swapped.pairs {
            if name == one.name {
                *name = other.name.to_owned();
            } else if name == other.name {
                *name = one.name.to_owned();
            }
        }
        swapped
    }

    /// The query without the parameters that are wrong, of which it keeps what was given.
    #[must_use]
    pub fn refusing(&self, errors: &[ParameterError]) -> Self {
        let mut rest = self.clone();
        for error in errors {
            let value = rest.all(&error.parameter).collect::<Vec<_>>().join(",");
            rest.pairs.retain(|(name, _)| *name != error.parameter);
            // A list may hold several wrong words; all that was given stands with the first of them.
            if !value.is_empty() {
                let (parameter, detail) = (error.parameter.clone(), error.detail.clone());
                rest.refused.push(Refused { parameter, value, detail });
            }
        }
        rest
    }

    /// What was left out.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The value of a parameter as it was given, be it valid or not.
    pub fn typed(&self, parameter: Parameter) -> Option<&str> {
        let refused = self.refused.iter().find(|refused| refused.parameter == parameter.name);
        refused.map(|refused| refused.value.as_str()).or_else(|| self.one(parameter))
    }

    /// Begins to read typed values.
    pub fn reader(&self) -> ParameterReader<'_> {
        let mut reader = ParameterReader { query: self, errors: Vec::new() };
        if let Err(detail) = times::zone(self) {
            reader.refuse(TZ, detail);
        }
        reader
    }
}

fn unknown(name: String, known: &[Parameter]) -> ParameterError {
    let names: Vec<_> = known.iter().map(|parameter| parameter.name).collect();
    let detail = match names.as_slice() {
        [] => "is unknown; this route has no parameters".to_owned(),
        names => format!("is unknown; use one of {}", names.join(", ")),
    };
    ParameterError { parameter: name, detail }
}

/// Reads typed values and gathers all that is wrong, so that a caller learns of it at once.
#[derive(Debug)]
pub struct ParameterReader<'a> {
    query: &'a Query,
    errors: Vec<ParameterError>,
}

impl ParameterReader<'_> {
    /// Says what is wrong with a parameter.
    pub fn refuse(&mut self, parameter: Parameter, detail: String) {
        self.errors.push(ParameterError { parameter: parameter.name.into(), detail });
    }

    /// The moment; now when nothing is said.
    pub fn at(&mut self) -> At {
        self.moment(AT).unwrap_or(At::Now)
    }

    /// A moment, where one is given.
    pub fn moment(&mut self, parameter: Parameter) -> Option<At> {
        times::read(self.query, parameter)?.map_err(|detail| self.refuse(parameter, detail)).ok()
    }

    /// Where a span of time begins, where that is said.
    pub fn since(&mut self) -> Option<At> {
        self.moment(SINCE)
    }

    /// Over which span health is told.
    pub fn health(&mut self) -> HealthFilter {
        let since = self.since();
        let limit = self.number(LIMIT, 1, HealthHistory::LIMIT).unwrap_or(HealthHistory::DEFAULT);
        HealthFilter { since, limit }
    }

    /// The value of a parameter.
    pub fn text(&self, parameter: Parameter) -> Option<String> {
        self.query.one(parameter).map(str::to_owned)
    }

    /// The value of a parameter as a word of some list.
    pub fn word<T: FromStr<Err = String>>(&mut self, parameter: Parameter) -> Option<T> {
        let parsed = self.query.one(parameter)?.parse();
        parsed.map_err(|detail| self.refuse(parameter, detail)).ok()
    }

    /// The value of a parameter as a duration, such as `15m`.
    pub fn duration(&mut self, parameter: Parameter, most: Duration) -> Option<Duration> {
        let text = self.query.one(parameter)?;
        let parsed = parse_duration(text).filter(|duration| *duration <= most);
        if parsed.is_none() {
            let most = crate::format::lasted(most);
            self.refuse(
                parameter,
                format!("invalid duration `{text}`; use one such as 15m or 1h30m, up to {most}"),
            );
        }
        parsed
    }

    /// The value of a parameter as a whole number.
    pub fn number(&mut self, parameter: Parameter, least: usize, most: usize) -> Option<usize> {
        let text = self.query.one(parameter)?;
        let number: Option<usize> =
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.refuse(
                parameter,
                format!("invalid number `{text}`; use a whole number from {least} to {most}"),
            );
        }
        number
    }

    /// All values of a parameter, be it repeated or parted by commas.
    pub fn texts(&self, parameter: Parameter) -> Vec<String> {
        let values = self.query.all(parameter.name).flat_map(|value| value.split(','));
        values.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }

    /// All values of a parameter as they were given: commas stand for themselves.
    pub fn all(&self, parameter: Parameter) -> Vec<String> {
        self.query.all(parameter.name).map(str::to_owned).collect()
    }

    /// All values of a parameter as words of some list.
    pub fn words<T: FromStr<Err = String>>(&mut self, parameter: Parameter) -> Vec<T> {
        let parsed = self.texts(parameter).into_iter().map(|text| text.parse());
        let mut words = Vec::new();
        for word in parsed {
            match word {
                Ok(word) => words.push(word),
                Err(detail) => self.refuse(parameter, detail),
            }
        }
        words
    }

    /// The value of a parameter as a label selector.
    pub fn labels(&mut self, parameter: Parameter) -> Option<LabelSelector> {
        let text = self.query.one(parameter)?;
        let parsed = text.parse::<LabelSelector>();
        let refuse = |error: SelectorError| {
            let place = error.before + 1;
            let hint = "write it as team=payments,criticality in (high,critical),!legacy";
            self.refuse(
                parameter,
                format!("invalid label selector `{text}`: {error}, at character {place}; {hint}"),
            );
        };
        parsed.map_err(refuse).ok()
    }

    /// Yes or no; no when nothing is said.
    pub fn flag(&mut self, parameter: Parameter) -> bool {
        match self.query.one(parameter) {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                self.refuse(parameter, format!("invalid boolean `{other}`; use `true` or `false`"));
                false
            }
        }
    }

    /// Which page.
    pub fn page(&mut self) -> PageRequest {
        let limit = self.number(LIMIT, 1, PageRequest::MAX).unwrap_or(PageRequest::DEFAULT);
        PageRequest { limit, after: self.text(CONTINUE) }
    }

    /// Ends the reading: all that was wrong, if anything was.
    pub fn finish(self) -> Result<(), Problem> {
        if self.errors.is_empty() { Ok(()) } else { Err(Problem::parameters(self.errors)) }
    }
}

mod times;

pub use times::TIMES;

#[cfg(test)]
mod tests;
