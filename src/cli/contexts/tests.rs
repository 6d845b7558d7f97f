//! The file of contexts: who can read it, and what many commands at once make of it.

use super::*;

fn context(name: &str) -> Context {
    Context {
        name: name.to_owned(),
        server: format!("https://{name}.test"),
        ca_file: None,
        token: "sl_CANARY".parse().ok(),
        oidc: Some(OidcTokens {
            issuer: "https://gitlab.test".to_owned(),
            client_id: "cli".to_owned(),
            id_token: "CANARY".parse().expect("a token"),
            expires: Timestamp::from_micros(1_795_176_000_000_000),
            refresh_token: "CANARY".parse().ok(),
        }),
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn the_file_is_where_the_desktop_says() {
    let of = |set: &[(&str, &str)]| {
        let found =
            |name: &str| set.iter().find(|(one, _)| *one == name).map(|(_, value)| PathBuf::from(value));
        path_of(found).map(|path| path.display().to_string())
    };
    let home = ("HOME", "/home/a");
    assert_eq!(of(&[home]).as_deref(), Some("/home/a/.config/strandline/contexts.yaml"));
    assert_eq!(of(&[home, ("XDG_CONFIG_HOME", "/x")]).as_deref(), Some("/x/strandline/contexts.yaml"));
    assert_eq!(
        of(&[home, ("XDG_CONFIG_HOME", "x")]).as_deref(),
        Some("/home/a/.config/strandline/contexts.yaml")
    );
    assert_eq!(
        of(&[home, ("XDG_CONFIG_HOME", "")]).as_deref(),
        Some("/home/a/.config/strandline/contexts.yaml")
    );
    assert_eq!(of(&[]), None);
}

#[tokio::test]
async fn what_is_written_is_read_by_its_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("strandline/contexts.yaml");
    assert_eq!(read(&path), Ok(Contexts::default()));
    let mut all = Contexts { current: Some("a".to_owned()), contexts: vec![] };
    all.put(context("a"));
    all.put(context("b"));
    all.put(Context { token: None, ..context("a") });
    Locked::acquire(&path).await.expect("the lock").write(&all).expect("written");
    assert_eq!((read(&path), all.contexts.len()), (Ok(all.clone()), 2));
    assert_eq!((mode(&path), mode(&folder.path().join("strandline"))), (0o600, 0o700));
    assert!(!format!("{all:?}").contains("CANARY"));
    // Who loosened it learns so before anything is sent.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("loosened");
    let refused = read(&path).expect_err("others can read it").lines();
    assert!(refused.contains("640") && refused.contains("chmod 600"), "{refused}");
}

#[tokio::test]
async fn a_file_that_is_none_of_ours_is_refused_without_showing_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("contexts.yaml");
    for text in ["contexts: [{name: a, server: b, secret: CANARY}]", "CANARY", "a: [", "contexts: CANARY"] {
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("tight");
        let refused = read(&path).expect_err(text).lines();
        assert!(refused.contains("line 1") && !refused.contains("CANARY"), "{refused}");
    }
}

#[tokio::test]
async fn a_link_to_the_file_stays_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let (real, path) = (folder.path().join("real.yaml"), folder.path().join("contexts.yaml"));
    std::fs::write(&real, "").expect("written");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).expect("tight");
    std::os::unix::fs::symlink(&real, &path).expect("linked");
    let all = Contexts { current: None, contexts: vec![context("a")] };
    Locked::acquire(&path).await.expect("the lock").write(&all).expect("written");
    assert_eq!((read(&real), read(&path)), (Ok(all.clone()), Ok(all)));
    assert!(std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_at_the_same_time_are_all_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("contexts.yaml");
    let changes = (0..16).map(|number| {
        let path = path.clone();
        tokio::spawn(async move {
            let locked = Locked::acquire(&path).await?;
            let mut all = locked.read()?;
            all.put(context(&format!("c{number}")));
            locked.write(&all)
        })
    });
    for change in changes.collect::<Vec<_>>() {
        change.await.expect("it ended").expect("written");
    }
    assert_eq!(read(&path).map(|all| all.contexts.len()), Ok(16));
}
