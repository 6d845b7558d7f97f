//! A CI/CD job that wants to deploy.

use super::path;
use super::variables::Variables;
use strandline_model::Tier;
use strandline_syntax::slug;

/// The longest slug of a ref, as GitLab cuts it.
const REF_SLUG_MAX: usize = 63;

/// A job, as far as the rules of access ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Full path of its project, such as `shop/web`.
    pub project: String,
    /// Full paths of groups that the project belongs to, besides those that are in its path.
    pub groups: Vec<String>,
    /// The environment that it deploys to; none when it deploys nothing.
    pub environment: Option<JobEnvironment>,
    /// The branch or tag that it runs for.
    pub ref_name: Option<String>,
    /// Whether the ref is a tag.
    pub tag: bool,
    /// Whether the ref is protected.
    pub protected: bool,
    /// The default branch of its project.
    pub default_branch: Option<String>,
    /// Its variables; they take precedence over those that follow from the rest.
    pub variables: Variables,
    /// The namespace that it asks for (`environment:kubernetes:namespace`).
    pub namespace: Option<String>,
}

/// The environment that a job deploys to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobEnvironment {
    /// Its name, such as `review/fix-login`.
    pub name: String,
    /// GitLab's slug of the name.
    pub slug: String,
    /// Its tier, such as `production`.
    pub tier: String,
}

impl JobEnvironment {
    /// An environment with the slug and the tier that its name gives it.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        JobEnvironment { slug: slug(&name), tier: Tier::guess(&name).as_str().to_owned(), name }
    }
}

impl Job {
    /// The job with its environment and ref as its variables report them, where it does not say them itself.
    ///
    /// This is for who asks with variables alone; where a job is authorised in earnest, its environment and ref are
    /// facts, and variables, which users can set, must not stand in for them.
    pub fn completed(mut self) -> Self {
        let given = |name: &str| self.variables.get(name).filter(|value| !value.is_empty()).cloned();
        let environment = || given("CI_ENVIRONMENT_NAME").map(JobEnvironment::named);
        let tag = given("CI_COMMIT_TAG");
        let branch = given("CI_COMMIT_BRANCH").or_else(|| given("CI_COMMIT_REF_NAME"));
        let protected = given("CI_COMMIT_REF_PROTECTED").is_some_and(|value| value == "true");
        let default_branch = given("CI_DEFAULT_BRANCH");
        self.environment = self.environment.take().or_else(environment);
        if self.ref_name.is_none() {
            self.tag |= tag.is_some();
            self.ref_name = tag.or(branch);
        }
        self.protected |= protected;
        self.default_branch = self.default_branch.take().or(default_branch);
        self
    }

    /// All its variables: those of GitLab that follow from what is known of it, and its own, which take precedence over them.
    ///
    /// Source: GitLab's list of predefined CI/CD variables. Of a ref that is a tag, `CI_COMMIT_TAG` is set and
    /// `CI_COMMIT_BRANCH` is not.
    pub fn all_variables(&self) -> Variables {
        let mut all = Variables::new();
        let mut set = |name: &str, value: &str| all.insert(name.to_owned(), value.to_owned());
        let project = self.project.as_str();
        set("CI_PROJECT_PATH", project);
        set("CI_PROJECT_PATH_SLUG", &ref_slug(project));
        set("CI_PROJECT_NAME", project.rsplit('/').next().unwrap_or(project));
        if let Some(namespace) = path::groups_above(project).next() {
            set("CI_PROJECT_NAMESPACE", namespace);
            set("CI_PROJECT_NAMESPACE_SLUG", &ref_slug(namespace));
            set("CI_PROJECT_ROOT_NAMESPACE", namespace.split('/').next().unwrap_or(namespace));
        }
        set("CI_COMMIT_REF_PROTECTED", if self.protected { "true" } else { "false" });
        if let Some(name) = &self.ref_name {
            set("CI_COMMIT_REF_NAME", name);
            set("CI_COMMIT_REF_SLUG", &ref_slug(name));
            set(if self.tag { "CI_COMMIT_TAG" } else { "CI_COMMIT_BRANCH" }, name);
        }
        if let Some(name) = &self.default_branch {
            set("CI_DEFAULT_BRANCH", name);
            set("CI_DEFAULT_BRANCH_SLUG", &ref_slug(name));
        }
        if let Some(environment) = &self.environment {
            set("CI_ENVIRONMENT_NAME", &environment.name);
            set("CI_ENVIRONMENT_SLUG", &environment.slug);
            set("CI_ENVIRONMENT_TIER", &environment.tier);
        }
        all.extend(self.variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        all
    }

    /// Whether a variable follows from what is known of the job, be it set or not: from its project, that project's default
    /// branch, and the environment. Of all others nobody but the job itself reports.
    pub fn is_known(&self, name: &str) -> bool {
        let default_branch = name == "CI_DEFAULT_BRANCH" || name == "CI_DEFAULT_BRANCH_SLUG";
        let known = name.starts_with("CI_PROJECT_")
            || (name.starts_with("CI_ENVIRONMENT_") && self.environment.is_some())
            || (default_branch && self.default_branch.is_some());
        known && !self.variables.contains_key(name)
    }

    /// The groups of its project, the deepest first.
    pub(super) fn all_groups(&self) -> Vec<&str> {
        let named = self
            .groups
            .iter()
            .flat_map(|group| [group.as_str()].into_iter().chain(path::groups_above(group)));
        let mut groups: Vec<&str> = path::groups_above(&self.project).chain(named).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.matches('/').count()));
        groups
    }
}

/// GitLab's slug of a ref: lower case, what is not a–z or 0–9 becomes `-`, at most 63 characters, no `-` at either end.
fn ref_slug(name: &str) -> String {
    let plain = |c: char| {
        let lower = c.to_ascii_lowercase();
        if lower.is_ascii_lowercase() || lower.is_ascii_digit() { lower } else { '-' }
    };
    let cut: String = name.chars().map(plain).take(REF_SLUG_MAX).collect();
    cut.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            project: "shop/front/web".into(),
            groups: vec!["ops/deploy".into()],
            environment: Some(JobEnvironment::named("review/Fix")),
            ref_name: Some("Feature/X_1-".into()),
            default_branch: Some("main".into()),
            ..Job::default()
        }
    }

    fn value(job: &Job, name: &str) -> Option<String> {
        job.all_variables().get(name).cloned()
    }

    #[test]
    fn gitlabs_variables_follow_from_the_job() {
        let job = job();
        for (name, expected) in [
            ("CI_PROJECT_PATH", Some("shop/front/web")),
            ("CI_PROJECT_PATH_SLUG", Some("shop-front-web")),
            ("CI_PROJECT_NAME", Some("web")),
            ("CI_PROJECT_NAMESPACE", Some("shop/front")),
            ("CI_PROJECT_ROOT_NAMESPACE", Some("shop")),
            ("CI_COMMIT_REF_NAME", Some("Feature/X_1-")),
            ("CI_COMMIT_REF_SLUG", Some("feature-x-1")),
            ("CI_COMMIT_BRANCH", Some("Feature/X_1-")),
            ("CI_COMMIT_TAG", None),
            ("CI_COMMIT_REF_PROTECTED", Some("false")),
            ("CI_DEFAULT_BRANCH", Some("main")),
            ("CI_ENVIRONMENT_NAME", Some("review/Fix")),
            ("CI_ENVIRONMENT_TIER", Some("development")),
        ] {
            assert_eq!(value(&job, name).as_deref(), expected, "{name}");
        }
        assert_eq!(value(&job, "CI_ENVIRONMENT_SLUG"), Some(slug("review/Fix")));
        let tag = Job { tag: true, ..job };
        assert_eq!(value(&tag, "CI_COMMIT_TAG").as_deref(), Some("Feature/X_1-"));
        assert_eq!(value(&tag, "CI_COMMIT_BRANCH"), None);
    }

    #[test]
    fn what_the_caller_gives_goes_first() {
        let mut job = job();
        job.variables.insert("CI_ENVIRONMENT_SLUG".into(), "own".into());
        job.variables.insert("CI_COMMIT_BRANCH".into(), String::new());
        assert_eq!(value(&job, "CI_ENVIRONMENT_SLUG").as_deref(), Some("own"));
        assert_eq!(value(&job, "CI_COMMIT_BRANCH").as_deref(), Some(""));
    }

    #[test]
    fn variables_alone_can_tell_of_a_job() {
        let given = [
            ("CI_ENVIRONMENT_NAME", "production"),
            ("CI_COMMIT_TAG", "v1"),
            ("CI_COMMIT_REF_PROTECTED", "true"),
            ("CI_DEFAULT_BRANCH", "main"),
        ];
        let variables: Variables = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let alone = Job { variables: variables.clone(), ..Job::default() }.completed();
        assert_eq!(alone.environment, Some(JobEnvironment::named("production")));
        assert_eq!((alone.ref_name.as_deref(), alone.tag, alone.protected), (Some("v1"), true, true));
        let said = Job { variables, ..job() }.completed();
        assert_eq!(said.environment, job().environment);
        assert_eq!((said.ref_name, said.tag), (job().ref_name, false));
    }

    #[test]
    fn the_deepest_group_comes_first() {
        assert_eq!(job().all_groups(), ["shop/front", "ops/deploy", "shop", "ops"]);
    }
}
