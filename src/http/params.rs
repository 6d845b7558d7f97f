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
    /// in it as instants, so that it asks for the same tomorrow. Another query begins at its first page: a token is good for
    /// the list and the time that it was made for.
    pub fn with(&self, changes: &[(Parameter, Option<&str>)]) -> String {
        let settled = times::settled(self);
        let is_new = |(parameter, value): &(Parameter, Option<&str>)| !settled.all(parameter.name).eq(*value);
        let restarts = changes.iter().any(is_new);
        let changed = |name: &str| {
            (restarts && name == CONTINUE.name) || changes.iter().any(|(parameter, _)| parameter.name == name)
        };
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
        _ if name == WATCH.name => "this list cannot be watched; `GET /api/v1/environments` and \
             `/api/v1/environments/{id}/resources` can"
            .to_owned(),
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

mod names;
mod times;

pub use names::*;
pub use times::TIMES;

#[cfg(test)]
mod tests;
