//! Whether a job may deploy with an agent.
//!
//! Which entries apply is GitLab's rule (`CiAccess::Finder` and `CiAccess::FilterService`): those of the job's project;
//! without any, the agent's own project; then those of the deepest group that has any; then the instance's. What a
//! nearer entry refuses no farther one allows. Rules are seed 004's.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::Value;

use super::decision::{Decision, EntryKind, EntryRef, Reason};
use super::expression::Effort;
use super::namespace::{self, Unusable};
use super::{
    AgentConfig, Entry, ExpandError, Grant, Job, LongNamespace, NoMatch, Rule, Variables, When, expand, path,
};

/// The variable that says whether a job's ref is protected.
const REF_PROTECTED: &str = "CI_COMMIT_REF_PROTECTED";

/// The most bytes that the texts of a rule's roles may have together once they are expanded.
const MAX_ROLES_BYTES: usize = 256 * 1024;

/// Decides whether a job may deploy with an agent that belongs to the project `owner`.
///
/// The same configuration and job always give the same decision; whatever fails on the way is a denial that says so.
pub fn decide(config: &AgentConfig, owner: &str, job: &Job) -> Decision {
    let variables = job.all_variables();
    let case = Case { config, job, variables: &variables, read: RefCell::default() };
    let mut decision = case.decide(owner);
    decision.unset.sort_unstable();
    decision.unset.dedup();
    decision.unverified = case.read.into_inner().into_iter().filter(|name| !job.is_known(name)).collect();
    decision
}

struct Case<'a> {
    config: &'a AgentConfig,
    job: &'a Job,
    variables: &'a Variables,
    /// The names of the variables on which the decision rests.
    read: RefCell<BTreeSet<String>>,
}

/// What the rules of a decision have asked for so far.
struct Asked {
    /// Variables that are not set.
    unset: Vec<String>,
    /// What expressions may still cost.
    effort: Effort,
}

/// A part of the configuration that is for the job.
struct Block<'a> {
    entry: EntryRef,
    grant: &'a Grant,
}

impl<'a> Case<'a> {
    fn decide(&self, owner: &str) -> Decision {
        let project = &self.job.project;
        let ci_access = &self.config.ci_access;
        let mut blocks = of(EntryKind::Project, &ci_access.projects, project);
        if blocks.is_empty() && !owner.is_empty() && path::same(owner, project) {
            let entry = EntryRef { kind: EntryKind::OwnProject, id: project.clone(), block: 1 };
            return self.granted(
                &entry,
                &Grant::default(),
                None,
                Reason::OwnProject,
                "the agent belongs to the project",
            );
        }
        for group in self.job.all_groups() {
            if blocks.is_empty() {
                blocks = of(EntryKind::Group, &ci_access.groups, group);
            }
        }
        if let Some(grant) = ci_access.instance.as_ref().filter(|_| blocks.is_empty()) {
            let entry = EntryRef { kind: EntryKind::Instance, id: String::new(), block: 1 };
            blocks.push(Block { entry, grant });
        }
        if blocks.is_empty() {
            let message =
                format!("the agent is not shared with the project `{project}` or one of its groups");
            return denied(None, None, Reason::NotListed, message);
        }
        self.among(&blocks)
    }

    /// Tries blocks in their order: the first rule that matches decides, or the first block without rules.
    fn among(&self, blocks: &[Block<'a>]) -> Decision {
        let mut refused = None;
        let mut unmatched = None;
        let mut asked = Asked { unset: Vec::new(), effort: Effort::default() };
        for Block { entry, grant } in blocks {
            if let Some((reason, message)) = self.refusal(grant) {
                refused.get_or_insert_with(|| denied(Some(entry), None, reason, message));
                continue;
            }
            if grant.rules.is_empty() {
                return self.granted(entry, grant, None, Reason::NoRules, "the entry has no rules");
            }
            if let Some(mut decision) = self.by_rules(entry, grant, &mut asked) {
                decision.unset = asked.unset;
                return decision;
            }
            unmatched.get_or_insert((entry, *grant));
        }
        let mut decision = match (unmatched, self.config.ci_access.no_match) {
            (Some((entry, grant)), NoMatch::Allow) => {
                let message = "no rule matched, and the agent's configuration then allows the job";
                self.granted(entry, grant, None, Reason::NoMatchAllowed, message)
            }
            (Some((entry, _)), NoMatch::Deny) => {
                denied(Some(entry), None, Reason::NoRuleMatched, "no rule matched")
            }
            (None, _) => refused
                .unwrap_or_else(|| denied(None, None, Reason::NotListed, "no entry applies to this job")),
        };
        decision.unset = asked.unset;
        decision
    }

    /// Why an entry is not for the job.
    fn refusal(&self, grant: &Grant) -> Option<(Reason, String)> {
        let name = self.job.environment.as_ref().map(|environment| environment.name.as_str());
        let listed = |name: &str| grant.environments.iter().any(|pattern| is_like(pattern, name));
        if !grant.environments.is_empty() && !name.is_some_and(listed) {
            let whose = name
                .map_or("a job without environment".to_owned(), |name| format!("the environment `{name}`"));
            return Some((Reason::EnvironmentNotListed, format!("the entry does not apply to {whose}")));
        }
        if grant.protected_branches_only {
            self.reads([REF_PROTECTED]);
        }
        let refused = grant.protected_branches_only && !self.job.protected;
        refused.then(|| (Reason::RefNotProtected, "the entry applies to protected branches only".to_owned()))
    }

    /// Notes that the decision rests on these variables.
    fn reads<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        self.read.borrow_mut().extend(names.into_iter().map(str::to_owned));
    }

    /// What the first rule that matches says; none when none does.
    fn by_rules(&self, entry: &EntryRef, grant: &Grant, asked: &mut Asked) -> Option<Decision> {
        for (number, rule) in (1..).zip(&grant.rules) {
            match self.matches(rule, asked) {
                Ok(false) => {}
                Ok(true) if rule.when == When::Never => {
                    let message = format!("rule {number} matched with `when: never`");
                    return Some(denied(Some(entry), Some(number), Reason::RuleNever, message));
                }
                Ok(true) => {
                    let message = format!("rule {number} matched");
                    return Some(self.granted(
                        entry,
                        grant,
                        Some((number, rule)),
                        Reason::RuleMatched,
                        &message,
                    ));
                }
                Err((reason, message)) => {
                    let message = format!("rule {number} cannot be evaluated: {message}");
                    return Some(denied(Some(entry), Some(number), reason, message));
                }
            }
        }
        None
    }

    fn matches(&self, rule: &Rule, asked: &mut Asked) -> Result<bool, (Reason, String)> {
        let Some(expression) = &rule.condition else { return Ok(true) };
        self.reads(expression.variables());
        let unset = expression.variables().into_iter().filter(|name| !self.variables.contains_key(*name));
        asked.unset.extend(unset.map(str::to_owned));
        expression.is_true(self.variables, &mut asked.effort).map_err(|error| {
            let reason = if error.code == "bad_regex" { Reason::BadRegex } else { Reason::ValueTooLong };
            (reason, error.message)
        })
    }

    /// The job is allowed, unless its namespace or its roles cannot be had.
    fn granted(
        &self,
        entry: &EntryRef,
        grant: &Grant,
        rule: Option<(usize, &Rule)>,
        reason: Reason,
        message: &str,
    ) -> Decision {
        let number = rule.map(|(number, _)| number);
        let had = self.namespace(grant, rule.map(|(_, rule)| rule)).and_then(|namespace| {
            let roles = rule.map_or(&Value::Null, |(_, rule)| &rule.roles);
            let mut left = MAX_ROLES_BYTES;
            let roles = self.expanded_value(roles, &mut left).map_err(|error| unusable("roles", &error))?;
            Ok((namespace, roles))
        });
        match had {
            Err(Unusable { reason, message }) => denied(Some(entry), number, reason, message),
            Ok((namespace, roles)) => Decision {
                allowed: true,
                rule: number,
                namespace_before: namespace.as_ref().and_then(|found| found.before.clone()),
                namespace: namespace.map(|found| found.name),
                reason,
                message: message.to_owned(),
                entry: Some(entry.clone()),
                roles,
                access_as: grant.access_as.clone(),
                resource_management: grant.resource_management,
                unset: Vec::new(),
                unverified: Vec::new(),
            },
        }
    }

    /// The namespace of the rule, or the one that the job asks for, or the entry's default.
    fn namespace(&self, grant: &Grant, rule: Option<&Rule>) -> Result<Option<Settled>, Unusable> {
        let setting =
            rule.and_then(|rule| rule.on_long_namespace).unwrap_or(self.config.ci_access.long_namespace);
        let wanted = self.settled(self.job.namespace.as_deref(), setting)?;
        match self.settled(rule.and_then(|rule| rule.namespace.as_deref()), setting)? {
            Some(granted) => match wanted {
                Some(wanted) if wanted.name != granted.name => {
                    let message = format!(
                        "the job requests the namespace `{}`, but its rule grants `{}`",
                        wanted.name, granted.name
                    );
                    Err(Unusable { reason: Reason::NamespaceNotGranted, message })
                }
                _ => Ok(Some(granted)),
            },
            None if wanted.is_some() => Ok(wanted),
            None => self.settled(grant.default_namespace.as_deref(), setting),
        }
    }

    fn settled(&self, written: Option<&str>, setting: LongNamespace) -> Result<Option<Settled>, Unusable> {
        let Some(written) = written else { return Ok(None) };
        self.reads(expand::names(written, self.variables));
        let whole = expand::expand(written, self.variables).map_err(|error| unusable("namespace", &error))?;
        let name = namespace::settle(&whole, setting)?;
        let before = (name != whole).then_some(whole);
        Ok(Some(Settled { name, before }))
    }

    /// A value with the variables in all its texts expanded, while there are bytes left for it.
    fn expanded_value(&self, value: &Value, left: &mut usize) -> Result<Value, ExpandError> {
        Ok(match value {
            Value::String(text) => {
                self.reads(expand::names(text, self.variables));
                let text = expand::expand(text, self.variables)?;
                *left = left.checked_sub(text.len()).ok_or(ExpandError::TooLong)?;
                Value::String(text)
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.expanded_value(item, left));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields =
                    fields.iter().map(|(name, value)| Ok((name.clone(), self.expanded_value(value, left)?)));
                Value::Object(fields.collect::<Result<_, ExpandError>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }
}

/// A namespace, and what it was before it was truncated.
struct Settled {
    name: String,
    before: Option<String>,
}

/// The entries of a list that are for a path, numbered among each other.
fn of<'a>(kind: EntryKind, entries: &'a [Entry], path: &str) -> Vec<Block<'a>> {
    let same = entries.iter().filter(|entry| path::same(&entry.id, path));
    let numbered = (1..).zip(same);
    let block = |(block, entry): (usize, &'a Entry)| Block {
        entry: EntryRef { kind, id: entry.id.clone(), block },
        grant: &entry.grant,
    };
    numbered.map(block).collect()
}

fn unusable(what: &str, error: &ExpandError) -> Unusable {
    let reason = match error {
        ExpandError::Cycle(_) => Reason::VariableCycle,
        ExpandError::TooLong | ExpandError::TooDeep => Reason::ExpansionTooLong,
    };
    Unusable { reason, message: format!("`{what}` cannot be expanded: {error}") }
}

fn denied(
    entry: Option<&EntryRef>,
    rule: Option<usize>,
    reason: Reason,
    message: impl Into<String>,
) -> Decision {
    Decision {
        allowed: false,
        rule,
        namespace: None,
        reason,
        message: message.into(),
        entry: entry.cloned(),
        namespace_before: None,
        roles: Value::Null,
        access_as: None,
        resource_management: false,
        unset: Vec::new(),
        unverified: Vec::new(),
    }
}

/// Whether the name of an environment is like a pattern, in which each `*` is any text.
///
/// GitLab's documentation has `review/*` match all environments below `review`; its `EnvironmentMatcher` would let it
/// match in the middle of a name too, which we do not take over: a restriction must not let in `prod/review/x`.
fn is_like(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    name.ends_with(last)
}
