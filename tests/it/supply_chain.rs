//! `.ci/supply-chain`, with stand-ins for cargo-deny and cargo: what fails it, and what it only says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// How `cargo-deny` ends: at `check bans …`, at `fetch db`, and at `check advisories`.
struct Deny {
    bans: i32,
    fetch: i32,
    advisories: i32,
}

const SOUND: Deny = Deny { bans: 0, fetch: 0, advisories: 0 };

impl Deny {
    fn script(&self) -> String {
        let version = version();
        let Deny { bans, fetch, advisories } = self;
        format!(
            "#!/bin/sh\ncase \"$*\" in\n--version) echo 'cargo-deny {version}' ;;\n\
             *'check bans'*) exit {bans} ;;\n'fetch db') exit {fetch} ;;\n\
             *--offline*'check advisories') exit {advisories} ;;\n*) exit 64 ;;\nesac\n"
        )
    }
}

fn script() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/supply-chain"))
}

fn version() -> String {
    let text = fs::read_to_string(script()).unwrap();
    text.lines().find_map(|line| line.strip_prefix("version=")).unwrap().to_owned()
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the script with only these programs besides the system's own; whether it passed, and what it said.
fn run(programs: &[(&str, &str)]) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in programs {
        put(&dir.path().join("bin").join(name), text);
    }
    let path = format!("{}:/usr/bin:/bin", dir.path().join("bin").display());
    let mut command = Command::new("bash");
    command.arg(script()).env("PATH", path).env("STRANDLINE_CACHE", dir.path().join("cache"));
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn an_advisory_fails_the_run_and_a_database_out_of_reach_is_said() {
    let with = |deny: Deny| run(&[("cargo-deny", &deny.script())]);
    assert_eq!(with(SOUND), (true, String::new()));
    assert!(!with(Deny { advisories: 101, ..SOUND }).0, "an advisory");
    assert!(!with(Deny { bans: 4, ..SOUND }).0, "a licence, a source or a ban");
    let (passed, said) = with(Deny { fetch: 1, advisories: 101, ..SOUND });
    assert!(passed && said.contains("NOT RUN: advisories"), "{said}");
}

#[test]
fn a_cargo_deny_that_cannot_be_installed_fails_the_run() {
    let (passed, said) = run(&[("cargo", "#!/bin/sh\nexit 101\n")]);
    assert!(!passed && said.contains("FAILED: cargo-deny"), "{said}");
    // Of another version, it is installed beside it, and that one is asked.
    let other = "#!/bin/sh\necho 'cargo-deny 0.0.1'\n";
    let installed = Deny { advisories: 101, ..SOUND }.script();
    let install = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --root ]; do shift; done\nmkdir -p \"$2/bin\"\n\
         cat > \"$2/bin/cargo-deny\" <<'END'\n{installed}END\nchmod +x \"$2/bin/cargo-deny\"\n"
    );
    assert!(
        !run(&[("cargo", &install), ("cargo-deny", other)]).0,
        "the one that was installed finds an advisory"
    );
    let sound = install.replace("exit 101", "exit 0");
    assert_eq!(run(&[("cargo", &sound), ("cargo-deny", other)]), (true, String::new()));
}
