//! One line of an audit log.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use strandline_model::{ChangedBy, Kind, Timestamp};
use strandline_object::json::Members;

/// An event, as far as it is of interest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    level: Cow<'a, str>,
    #[serde(borrow, default)]
    stage: Cow<'a, str>,
    #[serde(borrow, default)]
    verb: Cow<'a, str>,
    #[serde(borrow, default, rename = "requestURI")]
    request_uri: Cow<'a, str>,
    #[serde(borrow, default)]
    user: User<'a>,
    #[serde(borrow, default)]
    impersonated_user: Option<User<'a>>,
    #[serde(borrow, default)]
    user_agent: Cow<'a, str>,
    #[serde(borrow, default)]
    object_ref: Option<ObjectRef<'a>>,
    #[serde(default)]
    response_status: Option<Status>,
    #[serde(borrow, default)]
    request_object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response_object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stage_timestamp: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
struct User<'a> {
    #[serde(borrow, default)]
    username: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef<'a> {
    #[serde(borrow, default)]
    resource: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    api_group: Cow<'a, str>,
    #[serde(borrow, default)]
    subresource: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: i64,
}

/// What an event reports of one object.
pub(super) enum Outcome<'a> {
    /// It took a state.
    State { kind: Kind, object: &'a str },
    /// It is gone; the uid is empty where it is unknown.
    Gone { kind: Kind, namespace: String, name: String, uid: String },
    /// The event is of no use, with a stable word for the reason.
    Skipped(&'static str),
}

impl<'a> Event<'a> {
    /// Reads a line; a stable word for the reason where it is none.
    pub(super) fn parse(line: &'a str) -> Result<Self, &'static str> {
        let event: Event<'a> = serde_json::from_str(line).map_err(|_| "unreadable")?;
        match (&*event.api_version, &*event.kind) {
            ("audit.k8s.io/v1", "Event") => Ok(event),
            _ => Err("other_version"),
        }
    }

    /// When it happened, if it reports a change; else a stable word for the reason.
    pub(super) fn tells(&self) -> Result<Timestamp, &'static str> {
        let Some(about) = &self.object_ref else { return Err("no_object") };
        if matches!(&*self.verb, "get" | "list" | "watch") {
            return Err("reads");
        }
        if self.stage != "ResponseComplete" {
            return Err("other_stage");
        }
        if !self.response_status.as_ref().is_some_and(|status| (200..300).contains(&status.code)) {
            return Err("refused");
        }
        if self.request_uri.contains("dryRun=") {
            return Err("dry_run");
        }
        if self.level != "RequestResponse" {
            return Err("level");
        }
        match &*self.verb {
            "create" | "update" | "patch" | "apply" | "delete" | "deletecollection" => {}
            _ => return Err("other_verb"),
        }
        if self.response_object.is_none() {
            return Err("no_response");
        }
        if !about.subresource.is_empty() && self.named_kind().is_none() {
            return Err("subresource");
        }
        self.stage_timestamp.parse().map_err(|_| "no_time")
    }

    /// The kind of the object that was asked about, where the response holds that object, by group and resource.
    pub(super) fn named_kind(&self) -> Option<((String, String), Kind)> {
        let about = self.object_ref.as_ref()?;
        let kind = kind_of(&Members::parse(self.response_object?.get()).ok()?);
        let resource = about.resource.to_lowercase();
        let single = kind.kind.strip_suffix("List").unwrap_or(&kind.kind).to_lowercase();
        // `networkpolicies` begins like `networkpolicy` but for its end; a Scale or a Status begins like nothing.
        let stem = single.char_indices().next_back().map_or("", |(last, _)| &single[..last]);
        let same = !stem.is_empty() && resource.starts_with(stem) && kind.group == about.api_group;
        let kind = Kind::new(kind.group, single_name(&kind.kind));
        same.then(|| ((about.api_group.to_string(), about.resource.to_string()), kind))
    }

    /// What it reports, for each of its objects.
    pub(super) fn outcomes(&self, kinds: &BTreeMap<(String, String), Kind>) -> Vec<Outcome<'a>> {
        let deletes = matches!(&*self.verb, "delete" | "deletecollection");
        let Some(response) = self.response_object.map(RawValue::get) else {
            return vec![Outcome::Skipped("no_response")];
        };
        let Ok(members) = Members::parse(response) else { return vec![Outcome::Skipped("syntax")] };
        let kind = kind_of(&members);
        if kind.kind == "Status" {
            return vec![if deletes { self.gone(&members, kinds) } else { Outcome::Skipped("no_response") }];
        }
        if let Some(items) = members.get("items").filter(|_| kind.kind.ends_with("List")) {
            let Ok(items) = serde_json::from_str::<Vec<&'a RawValue>>(items) else {
                return vec![Outcome::Skipped("syntax")];
            };
            let of_items = Kind::new(kind.group, single_name(&kind.kind));
            return items
                .into_iter()
                .flat_map(|item| self.outcomes_of(&of_items, item.get(), deletes))
                .collect();
        }
        self.outcomes_of(&kind, response, deletes)
    }

    fn outcomes_of(&self, kind: &Kind, object: &'a str, deletes: bool) -> Vec<Outcome<'a>> {
        let Some(metadata) = Members::parse(object)
            .ok()
            .and_then(|members| members.get("metadata").and_then(|metadata| Members::parse(metadata).ok()))
        else {
            return vec![Outcome::Skipped("no_metadata")];
        };
        let text = |name: &str| metadata.text(name).map(Cow::into_owned).unwrap_or_default();
        let terminating = !text("deletionTimestamp").is_empty();
        let held = metadata.get("finalizers").is_some_and(|held| !matches!(held.trim(), "[]" | "null"));
        let grace = metadata.get("deletionGracePeriodSeconds").unwrap_or("0").trim();
        let now = grace == "0" || (deletes && self.asks_for_no_grace());
        let gone =
            if deletes { !terminating || (!held && now) } else { terminating && !held && grace == "0" };
        let state = (!deletes || !gone).then(|| Outcome::State { kind: kind.clone(), object });
        let end = gone.then(|| Outcome::Gone {
            kind: kind.clone(),
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
        });
        state.into_iter().chain(end).collect()
    }

    /// Whether a deletion was asked for that waits for nobody.
    fn asks_for_no_grace(&self) -> bool {
        let asked = self.request_object.and_then(|asked| Members::parse(asked.get()).ok());
        asked.is_some_and(|asked| asked.get("gracePeriodSeconds").is_some_and(|grace| grace.trim() == "0"))
    }

    /// A deletion of which only the success is reported.
    fn gone(&self, status: &Members<'_>, kinds: &BTreeMap<(String, String), Kind>) -> Outcome<'a> {
        let Some(about) = &self.object_ref else { return Outcome::Skipped("no_object") };
        let resource = (about.api_group.to_string(), about.resource.to_string());
        let Some(kind) = kinds.get(&resource) else { return Outcome::Skipped("unknown_kind") };
        if about.name.is_empty() {
            return Outcome::Skipped("no_name");
        }
        let details = status.get("details").and_then(|details| Members::parse(details).ok());
        let uid = details.and_then(|details| details.text("uid").map(Cow::into_owned)).unwrap_or_default();
        Outcome::Gone {
            kind: kind.clone(),
            namespace: about.namespace.to_string(),
            name: about.name.to_string(),
            uid,
        }
    }

    /// Who made the change: the user with the program that asked, and the verb.
    pub(super) fn changed_by(&self, time: Timestamp) -> ChangedBy {
        let user = self.impersonated_user.as_ref().unwrap_or(&self.user);
        let program = self.user_agent.split(['/', ' ']).next().unwrap_or_default();
        let manager = match (user.username.is_empty(), program.is_empty()) {
            (false, false) => format!("{} ({program})", user.username),
            (false, true) => user.username.to_string(),
            (true, _) => program.to_owned(),
        };
        let subresource =
            self.object_ref.as_ref().map(|about| about.subresource.to_string()).unwrap_or_default();
        ChangedBy { manager, operation: self.verb.to_string(), subresource, time: Some(time) }
    }
}

fn kind_of(members: &Members<'_>) -> Kind {
    let text = |name: &str| members.text(name).unwrap_or_default();
    Kind::from_api_version(&text("apiVersion"), &text("kind"))
}

/// The kind of which a list is.
fn single_name(kind: &str) -> &str {
    kind.strip_suffix("List").filter(|single| !single.is_empty()).unwrap_or(kind)
}
