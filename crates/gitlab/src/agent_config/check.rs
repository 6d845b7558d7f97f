//! What the file says, checked and completed.
//!
//! Messages give the place of a mistake and never quote the file: others than its author may read them.

use std::collections::HashMap;

use serde_saphyr::{Location, Spanned};

use super::file;
use super::place::place;
use super::types::{AgentConfig, CiAccess, Entry, Grant, LongNamespace, NoMatch, Rule, When};
use crate::expression::Expression;
use crate::path;
use crate::user::UserAccess;
use strandline_syntax::diagnostics::{Mistake, closest, instead};
use strandline_syntax::is_dns_label;

/// The most projects and groups of each list that are heeded: GitLab's `AUTHORIZED_ENTITY_LIMIT`.
const MAX_ENTRIES: usize = 500;

/// The most rules of a file: a job may have to be compared with each.
const MAX_RULES: usize = 1000;

/// Checks the whole file; every mistake is reported, not only the first. `room` says what may be compiled.
pub(super) fn check(
    file: file::File,
    source: &str,
    room: &mut usize,
) -> Result<(AgentConfig, Vec<Mistake>), Vec<Mistake>> {
    let mut check = Check { source, mistakes: Vec::new(), warnings: Vec::new(), rules: 0, room };
    check.unknown_sections(&file.unknown);
    let ci_access = check.ci_access(file.ci_access.unwrap_or_default());
    let user_access = file.user_access.map(|written| check.user_access(written));
    let Check { mut mistakes, mut warnings, .. } = check;
    let by_place = |mistake: &Mistake| (mistake.line, mistake.column);
    mistakes.sort_by_key(by_place);
    warnings.sort_by_key(by_place);
    match mistakes.is_empty() {
        true => Ok((AgentConfig { ci_access, user_access }, warnings)),
        false => Err(mistakes),
    }
}

struct Check<'a> {
    source: &'a str,
    mistakes: Vec<Mistake>,
    warnings: Vec<Mistake>,
    /// How many rules were read.
    rules: usize,
    /// How many bytes may still be compiled.
    room: &'a mut usize,
}

impl Check<'_> {
    fn report(&mut self, at: Location, code: &'static str, message: impl Into<String>, hint: &str) {
        self.mistakes.push(Mistake::at(at, code, message).hint(hint));
    }

    fn warn(&mut self, at: Location, code: &'static str, message: impl Into<String>, hint: &str) {
        self.warnings.push(Mistake::at(at, code, message).hint(hint));
    }

    /// A section that nobody knows cannot change who may do what, so the others hold. It may be a misspelt one that would.
    fn unknown_sections(&mut self, unknown: &[Spanned<String>]) {
        for name in unknown {
            let hint = match closest(&name.value, &file::READ) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it, or move it to the section it belongs to".to_owned(),
            };
            self.warn(name.referenced, "unknown_section", "unknown section; it is ignored", &hint);
        }
    }

    /// One of a few words; the first of them where none is written.
    fn word<T: Copy + Default>(&mut self, written: Option<&Spanned<String>>, words: &[(&str, T)]) -> T {
        let Some(written) = written else { return T::default() };
        let found = words.iter().find(|(word, _)| *word == written.value);
        found.map(|(_, value)| *value).unwrap_or_else(|| {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = instead(&written.value, &names, "words");
            self.report(written.referenced, "unknown_word", "unknown word", &hint);
            T::default()
        })
    }

    fn long_namespace(&mut self, written: Option<&Spanned<String>>) -> LongNamespace {
        self.word(written, &[("abort", LongNamespace::Abort), ("truncate", LongNamespace::Truncate)])
    }

    fn ci_access(&mut self, written: file::CiAccess) -> CiAccess {
        let no_match =
            self.word(written.no_match.as_ref(), &[("deny", NoMatch::Deny), ("allow", NoMatch::Allow)]);
        let long_namespace = self.long_namespace(written.long_namespace.as_ref());
        CiAccess {
            no_match,
            long_namespace,
            projects: self.entries("project", written.projects.unwrap_or_default(), long_namespace),
            groups: self.entries("group", written.groups.unwrap_or_default(), long_namespace),
            instance: written.instance.map(|entry| self.instance(entry, long_namespace)),
        }
    }

    fn instance(&mut self, entry: Spanned<file::Entry>, long_namespace: LongNamespace) -> Grant {
        if let Some(id) = &entry.value.id {
            self.report(id.referenced, "unknown_key", "unknown key `id`", "`instance` is for all projects");
        }
        self.grant(entry.value, long_namespace)
    }

    fn entries(
        &mut self,
        of: &'static str,
        written: Vec<Spanned<file::Entry>>,
        long_namespace: LongNamespace,
    ) -> Vec<Entry> {
        let mut lines: HashMap<String, u64> = HashMap::new();
        let mut entries = Vec::new();
        for entry in written {
            let at = entry.referenced;
            let id = match &entry.value.id {
                Some(id) => self.path(of, id),
                None => {
                    let hint = format!("give the full path of a {of}");
                    self.report(at, "missing_key", "the key `id` is missing", &hint);
                    String::new()
                }
            };
            let id_at = entry.value.id.as_ref().map_or(at, |id| id.referenced);
            if let Some(line) = lines.insert(id.to_ascii_lowercase(), id_at.line()).filter(|_| !id.is_empty())
            {
                let message = format!("duplicate {of}, first in line {line}");
                let hint = "entries are evaluated in order; merge their rules into one entry";
                self.warn(id_at, "duplicate", message, hint);
            }
            if entries.len() == MAX_ENTRIES {
                let message = format!("only the first {MAX_ENTRIES} {of}s are used, as in GitLab");
                self.warn(id_at, "too_many", message, "share the agent with a common parent group");
            }
            let grant = self.grant(entry.value, long_namespace);
            entries.push(Entry { id, grant });
        }
        entries.truncate(MAX_ENTRIES);
        entries
    }

    /// The full path of a project or group.
    fn path(&mut self, of: &str, written: &Spanned<String>) -> String {
        if !path::is_path(&written.value) {
            let message = format!("not the full path of a {of}");
            let hint = "use the path of its URL, such as group/name";
            self.report(written.referenced, "bad_path", message, hint);
        }
        written.value.clone()
    }

    fn grant(&mut self, written: file::Entry, long_namespace: LongNamespace) -> Grant {
        let default_namespace = self.namespace(written.default_namespace.as_ref(), long_namespace);
        let mut environments = Vec::new();
        for pattern in written.environments.unwrap_or_default() {
            if pattern.value.trim().is_empty() {
                let message = "the environment name is empty";
                self.report(
                    pattern.referenced,
                    "bad_name",
                    message,
                    "omit `environments` to allow all of them",
                );
            }
            environments.push(pattern.value);
        }
        Grant {
            default_namespace,
            access_as: written.access_as,
            environments,
            protected_branches_only: written.protected_branches_only.unwrap_or_default(),
            resource_management: written.resource_management.and_then(|it| it.enabled).unwrap_or_default(),
            rules: self.rules(written.rules.unwrap_or_default(), long_namespace),
        }
    }

    fn rules(&mut self, written: Vec<Spanned<file::Rule>>, long_namespace: LongNamespace) -> Vec<Rule> {
        let mut rules = Vec::new();
        let mut all_taken = None;
        for rule in written {
            if let Some(number) = all_taken {
                let message = format!("this rule is never reached: rule {number} matches every job");
                self.warn(
                    rule.referenced,
                    "unreachable",
                    message,
                    "move it before that rule, or add an `if` to that rule",
                );
            }
            self.rules += 1;
            if self.rules == MAX_RULES + 1 {
                let message = format!("the file has more than {MAX_RULES} rules");
                self.report(rule.referenced, "too_many", message, "use fewer rules, or several agents");
            }
            if self.rules > MAX_RULES {
                break;
            }
            rules.push(self.rule(&rule.value, long_namespace));
            if rule.value.condition.is_none() && all_taken.is_none() {
                all_taken = Some(rules.len());
            }
        }
        rules
    }

    fn rule(&mut self, written: &file::Rule, long_namespace: LongNamespace) -> Rule {
        let condition = written.condition.as_ref().and_then(|written| self.condition(written));
        // What the file says goes for all rules that say nothing themselves.
        let own = written.on_long_namespace.as_ref().map(|word| self.long_namespace(Some(word)));
        Rule {
            condition,
            namespace: self.namespace(written.namespace.as_ref(), own.unwrap_or(long_namespace)),
            roles: written.roles.clone().unwrap_or_default(),
            when: self.when(written.when.as_ref()),
            on_long_namespace: own,
        }
    }

    fn when(&mut self, written: Option<&Spanned<String>>) -> When {
        self.word(written, &[("always", When::Always), ("never", When::Never)])
    }

    /// A namespace that would be refused whatever the variables say is worth a warning.
    fn namespace(&mut self, written: Option<&Spanned<String>>, long: LongNamespace) -> Option<String> {
        let written = written.filter(|written| !written.value.is_empty())?;
        let name = &written.value;
        if !name.contains('$') && !is_dns_label(name) && long == LongNamespace::Abort {
            let message = "invalid namespace, so all its jobs are denied";
            let hint = "use up to 63 lower-case letters, digits and `-`, not at either end";
            self.warn(written.referenced, "bad_namespace", message, hint);
        }
        Some(name.clone())
    }

    /// Reads an expression, and reports what is wrong with it where it is.
    fn condition(&mut self, written: &Spanned<String>) -> Option<Expression> {
        if *self.room == 0 {
            // Which is a mistake already.
            return None;
        }
        match Expression::parse(&written.value, self.room) {
            Ok(expression) => {
                for remark in expression.remarks() {
                    let warning =
                        self.in_expression(written, remark.column, "odd_expression", &remark.message);
                    self.warnings.push(warning);
                }
                Some(expression)
            }
            Err(error) => {
                let mut mistake = self.in_expression(written, error.column, error.code, &error.message);
                if error.code == "too_large" {
                    mistake.hint = Some("use fewer repetitions, or several agents".to_owned());
                }
                self.mistakes.push(mistake);
                None
            }
        }
    }

    fn in_expression(
        &self,
        written: &Spanned<String>,
        column: usize,
        code: &'static str,
        message: &str,
    ) -> Mistake {
        let at = written.referenced;
        let message = format!("in `if`, column {column}: {message}");
        let mut mistake = Mistake::at(at, code, message);
        if let Some((line, column)) = place(self.source, at, &written.value, column) {
            (mistake.line, mistake.column) = (line, column);
        }
        mistake
    }

    fn user_access(&mut self, written: file::UserAccess) -> UserAccess {
        if let Some(instance) = &written.instance {
            let message = "`instance` is not supported yet, so it grants no access";
            self.warn(instance.referenced, "not_heeded", message, "list the groups whose members get access");
        }
        let mut paths = |of, members: Option<Vec<file::Member>>| {
            let members = members.unwrap_or_default();
            members.iter().map(|member| self.path(of, &member.id)).collect()
        };
        UserAccess {
            access_as: written.access_as,
            projects: paths("project", written.projects),
            groups: paths("group", written.groups),
        }
    }
}
