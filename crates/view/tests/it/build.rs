//! A build that is broken off goes on where it stood, and only where that is right.

use super::*;
use strandline_query::testing::{Thing, apply_all, record as play};
use strandline_view::Build;

/// More changes than a build takes in one step.
const MANY: usize = 2500;

/// A log with many changes, those of another run under other names.
fn many(run: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    play(dir.path(), Arc::new(SystemClock), |appender| async move {
        let things: Vec<_> =
            (0..MANY).map(|n| Thing::pod("one", "shop", &format!("pod-{run}-{n}"))).collect();
        apply_all(&appender, 1, &things).await;
    });
    dir
}

fn head(directory: &Path) -> Offset {
    LogReader::open(directory).unwrap().head().unwrap()
}

/// Builds a part, and ends as a process does that is killed.
fn broken_off(directory: &Path, rules: RuleSet) -> Offset {
    let mut build = Build::open(directory, ProjectorOptions::small(rules)).unwrap();
    assert!(build.step().unwrap());
    assert!(build.checkpoint() < head(directory));
    build.checkpoint()
}

/// Goes on, and tells from where.
fn finished(directory: &Path, rules: RuleSet) -> Offset {
    let mut build = Build::open(directory, ProjectorOptions::small(rules)).unwrap();
    while build.step().unwrap() {}
    let resumed_at = build.resumed_at();
    assert_eq!(build.swap().unwrap(), head(directory));
    assert!(is_current(directory));
    resumed_at
}

#[test]
fn a_build_that_was_broken_off_goes_on_where_it_stood() {
    let dir = many(0);
    build(dir.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
    let whole = dump(dir.path());
    let stood = broken_off(dir.path(), RuleSet::default());
    assert_eq!(dump(dir.path()), whole, "the old view stays as it was");
    assert_eq!(finished(dir.path(), RuleSet::default()), stood);
    assert_eq!(dump(dir.path()), whole);
    assert_eq!(finished(dir.path(), RuleSet::default()), Offset::ZERO, "nothing is left of it");
}

#[test]
fn a_build_by_other_rules_of_another_log_or_damaged_begins_anew() {
    let dir = many(0);
    let other = RuleSet { progressing_grace: std::time::Duration::from_secs(7), ..RuleSet::default() };
    assert_ne!(other.name(), RuleSet::default().name());
    broken_off(dir.path(), other);
    assert_eq!(finished(dir.path(), RuleSet::default()), Offset::ZERO);

    let (foreign, building) = (many(1), dir.path().join("view.building.db"));
    broken_off(foreign.path(), RuleSet::default());
    std::fs::copy(foreign.path().join("view.building.db"), &building).unwrap();
    assert_eq!(finished(dir.path(), RuleSet::default()), Offset::ZERO);

    broken_off(dir.path(), RuleSet::default());
    let file = std::fs::OpenOptions::new().write(true).open(&building).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xff; 4096], 4096).unwrap();
    assert_eq!(finished(dir.path(), RuleSet::default()), Offset::ZERO);
}

#[test]
fn a_view_of_another_log_is_told_and_built_anew() {
    let apply = |n| Step::Apply { n, owner: None, carries: Carries::Label, health: 0, incarnation: 0 };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    record(one.path(), &[apply(0)]);
    record(two.path(), &[apply(1), apply(2)]);
    project_in_bites(one.path());
    std::fs::copy(path(one.path()), path(two.path())).unwrap();
    let refused = Projector::open(two.path(), ProjectorOptions::small(RuleSet::default())).unwrap_err();
    assert!(matches!(refused, ProjectorError::Foreign { .. }) && refused.is_mended_by_rebuild(), "{refused}");
    build(two.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
    assert_eq!(
        Projector::open(two.path(), ProjectorOptions::small(RuleSet::default())).unwrap().checkpoint(),
        Offset::new(3)
    );
}
