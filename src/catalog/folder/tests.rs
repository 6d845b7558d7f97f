//! Looks at a checkout while others change it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use super::*;
use strandline_clock::testing::ManualClock;
use strandline_query::testing::record;

const GOOD: &str = "ci_access: {projects: [{id: shop/web}]}\n";

/// The agents as they are declared.
async fn declared(appender: &Appender) -> Vec<AgentSpec> {
    let read = |catalog: &mut Catalog<'_, '_>| {
        let mut agents = Vec::new();
        for name in catalog.names(CatalogKind::Agent)? {
            if let Some(Standing { fact: CatalogFact::Agent(spec), .. }) =
                catalog.get(CatalogKind::Agent, &name)?
            {
                agents.push(*spec);
            }
        }
        Ok((Vec::new(), agents))
    };
    appender.decide(Source::Api, read).await.unwrap().1
}

/// Looks once.
async fn look(reader: &mut FolderReader, appender: &Appender) {
    reader.declare(reader.read(), appender).await.unwrap();
}

/// Looks until what is found counts.
async fn settle(reader: &mut FolderReader, appender: &Appender) {
    look(reader, appender).await;
    look(reader, appender).await;
}

fn checkout(project: &str, path: &Path) -> AgentFolderConfig {
    let clusters = [("one".to_owned(), "east".to_owned())].into();
    AgentFolderConfig { project: project.to_owned(), path: path.to_owned(), clusters }
}

fn put(root: &Path, agent: &str, text: &str) -> PathBuf {
    let file = root.join(".gitlab/agents").join(agent).join(FILE);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Lets a test change configuration file of the one agent of a folder: and look at it.
fn with_folder<F: Future<Output = ()> + Send>(
    test: impl FnOnce(FolderReader, Appender, PathBuf) -> F + Send,
) {
    let (data, checkout_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = put(checkout_dir.path(), "one", GOOD);
    let mut readers = FolderReader::of(vec![checkout("shop/agents", checkout_dir.path())]);
    record(data.path(), Arc::new(ManualClock::default()), |appender| async move {
        test(readers.remove(0), appender, file).await;
    });
}

#[test]
fn a_file_that_cannot_be_used_leaves_what_was_said_before() {
    with_folder(|mut reader, appender, file| async move {
        look(&mut reader, &appender).await;
        let good = declared(&appender).await;
        assert_eq!((good.len(), good[0].configuration.as_str(), good[0].cluster.as_str()), (1, GOOD, "east"));
        for wrong in ["ci_access: {a: 1}", "a: [", "\u{0}", "ci_access: {projects: 1}"] {
            std::fs::write(&file, wrong).unwrap();
            settle(&mut reader, &appender).await;
            let held = declared(&appender).await.remove(0);
            assert_eq!(held.configuration, GOOD, "{wrong}");
            assert!(held.problem.contains("config.yaml:1:"), "{wrong}: {}", held.problem);
        }
        // It is there and cannot be opened.
        std::fs::remove_file(&file).unwrap();
        symlink(&file, &file).unwrap();
        settle(&mut reader, &appender).await;
        let held = declared(&appender).await.remove(0);
        assert_eq!(held.configuration, GOOD);
        assert!(held.problem.contains("config.yaml cannot be read"), "{}", held.problem);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, GOOD).unwrap();
        settle(&mut reader, &appender).await;
        assert_eq!(declared(&appender).await, good);
    });
}

#[test]
fn what_one_look_alone_finds_does_not_count() {
    with_folder(|mut reader, appender, file| async move {
        look(&mut reader, &appender).await;
        let good = declared(&appender).await;
        // As while a checkout is brought up to date.
        std::fs::remove_file(&file).unwrap();
        look(&mut reader, &appender).await;
        std::fs::write(&file, GOOD).unwrap();
        settle(&mut reader, &appender).await;
        assert_eq!(declared(&appender).await, good);
        std::fs::remove_file(&file).unwrap();
        look(&mut reader, &appender).await;
        assert_eq!(declared(&appender).await, good);
        look(&mut reader, &appender).await;
        assert_eq!(declared(&appender).await, []);
    });
}

#[test]
fn what_is_no_regular_file_is_a_problem_of_its_agent_alone() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "root:x:0:0:canary\n").unwrap();
    let target = outside.path().to_owned();
    with_folder(|mut reader, appender, file| async move {
        let agents = file.parent().unwrap().parent().unwrap().to_owned();
        let root = agents.parent().unwrap().parent().unwrap();
        put(root, "two", "");
        settle(&mut reader, &appender).await;
        assert_eq!(declared(&appender).await.len(), 2);
        // Listens as long as the test runs.
        let socket = tempfile::tempdir().unwrap().keep().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (kind, mut make) in [
            ("a FIFO", Box::new(|| fifo(&file)) as Box<dyn FnMut() + Send>),
            ("a symbolic link", Box::new(|| symlink(&target, &file).unwrap())),
            ("a symbolic link", Box::new(|| symlink("../two/config.yaml", &file).unwrap())),
            ("a symbolic link", Box::new(|| symlink("/dev/zero", &file).unwrap())),
            ("a socket", Box::new(|| std::fs::hard_link(&socket, &file).unwrap())),
            ("a directory", Box::new(|| std::fs::create_dir(&file).unwrap())),
        ] {
            let _ = std::fs::remove_file(&file);
            make();
            // What another agent no longer says is heeded all the same.
            let others = if declared(&appender).await[1].configuration.is_empty() { GOOD } else { "" };
            put(root, "two", others);
            settle(&mut reader, &appender).await;
            let found = declared(&appender).await;
            assert_eq!(found[0].configuration, GOOD, "{kind}");
            assert!(found[0].problem.contains(&format!("it is {kind},")), "{kind}: {}", found[0].problem);
            assert!(!found[0].problem.contains("canary"), "{}", found[0].problem);
            assert_eq!((found[1].configuration.as_str(), found[1].problem.as_str()), (others, ""), "{kind}");
        }
        std::fs::remove_dir_all(agents.join("one")).unwrap();
        symlink("two", agents.join("one")).unwrap();
        settle(&mut reader, &appender).await;
        let held = declared(&appender).await.remove(0);
        assert!(held.problem.contains("it is a symbolic link,"), "{}", held.problem);
        std::fs::remove_dir_all(socket.parent().unwrap()).unwrap();
    });
}

#[test]
fn the_root_of_a_checkout_may_be_a_link_that_moves() {
    let (data, checkouts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (checkouts.path().join("a"), checkouts.path().join("b"));
    put(&first, "one", GOOD);
    put(&second, "one", "");
    let link = checkouts.path().join("current");
    symlink("a", &link).unwrap();
    let mut reader = FolderReader::of(vec![checkout("shop/agents", &link)]).remove(0);
    record(data.path(), Arc::new(ManualClock::default()), |appender| async move {
        look(&mut reader, &appender).await;
        assert_eq!(declared(&appender).await[0].configuration, GOOD);
        std::fs::remove_file(&link).unwrap();
        symlink("b", &link).unwrap();
        settle(&mut reader, &appender).await;
        let held = declared(&appender).await.remove(0);
        assert_eq!((held.configuration.as_str(), held.problem.as_str()), ("", ""));
        // A folder below the root may not: it could lead anywhere.
        std::fs::rename(second.join(".gitlab"), checkouts.path().join("elsewhere")).unwrap();
        symlink("../elsewhere", second.join(".gitlab")).unwrap();
        let refused = reader.read().unwrap_err().to_string();
        assert!(refused.contains("it is a symbolic link,"), "{refused}");
        settle(&mut reader, &appender).await;
        assert_eq!(declared(&appender).await, [held], "nothing is concluded");
    });
}

#[test]
fn a_checkout_that_cannot_be_read_or_is_gone_from_the_configuration_leaves_other_projects_alone() {
    let (data, one, two) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(one.path(), "one", GOOD);
    put(two.path(), "one", GOOD);
    let folders = [("shop/agents", one.path()), ("ops/agents", two.path())];
    let mut readers = FolderReader::of(folders.map(|(project, path)| checkout(project, path)).to_vec());
    record(data.path(), Arc::new(ManualClock::default()), |appender| async move {
        for reader in &mut readers {
            look(reader, &appender).await;
        }
        let ids = || async {
            declared(&appender).await.iter().map(|agent| agent.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ids().await, ["ops/agents:one", "shop/agents:one"]);
        // The checkout of one is gone, and the other takes back what it said.
        std::fs::rename(one.path().join(".gitlab"), one.path().join("away")).unwrap();
        std::fs::remove_dir_all(two.path().join(".gitlab/agents/one")).unwrap();
        for reader in &mut readers {
            settle(reader, &appender).await;
        }
        assert_eq!(ids().await, ["shop/agents:one"]);
        withdraw_folders(&readers, &appender).await.unwrap();
        assert_eq!(ids().await, ["shop/agents:one"]);
        withdraw_folders(&[], &appender).await.unwrap();
        assert_eq!(ids().await, Vec::<String>::new());
    });
}

#[test]
fn an_agent_that_the_configuration_does_not_lead_to_a_cluster_has_none() {
    with_folder(|mut reader, appender, file| async move {
        let agents = file.parent().unwrap().parent().unwrap();
        std::fs::create_dir(agents.join("east")).unwrap();
        std::fs::write(agents.join("east").join(FILE), "user_access: {access_as: {agent: {}}}\n").unwrap();
        look(&mut reader, &appender).await;
        let led: Vec<_> = declared(&appender)
            .await
            .into_iter()
            .map(|agent| (agent.id.name().to_owned(), agent.cluster))
            .collect();
        assert_eq!(led, [("east".to_owned(), String::new()), ("one".to_owned(), "east".to_owned())]);
    });
}

#[test]
fn the_files_of_a_project_are_read_up_to_a_size() {
    let root = tempfile::tempdir().unwrap();
    let long = "#".repeat(MAX_CONFIG_BYTES);
    for n in 0..=BYTES_MAX / MAX_CONFIG_BYTES {
        put(root.path(), &format!("a{n:02}"), &long);
    }
    put(root.path(), "z", "");
    let reader = FolderReader::of(vec![checkout("shop/agents", root.path())]).remove(0);
    let found = reader.read().unwrap();
    let refused: Vec<_> = found.iter().filter_map(|agent| agent.content.as_ref().err()).collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("the files of all agents exceed"), "{refused:?}");
}
