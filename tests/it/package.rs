//! The Debian package: installed, upgraded and removed in a root of its own, and its unit as systemd reads it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use strandline::config::parse;

use crate::checkout::{files, read, root};
use crate::not_run::left_out;
use crate::server::{PROGRAM, Result};

const UNIT: &str = "deploy/debian/strandline.service";

/// Says that a test needs a program that is not there, and that it must then return.
fn skip_without(test: &str, program: &str) -> bool {
    if Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return false;
    }
    left_out(test, &format!("{program} is missing"));
    true
}

/// What a command prints; its errors are errors here.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?}: {text}").into()),
    }
}

/// A root in which packages can be installed, though nothing runs in it.
struct Root(PathBuf);

impl Root {
    fn new(folder: &Path) -> Result<Self> {
        for place in ["updates", "info"] {
            fs::create_dir_all(folder.join("var/lib/dpkg").join(place))?;
        }
        fs::write(folder.join("var/lib/dpkg/status"), "")?;
        Ok(Root(folder.to_owned()))
    }

    fn dpkg(&self, arguments: &[&str]) -> Result<String> {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", self.0.display())).arg("--log=/dev/null");
        dpkg.args(["--force-not-root", "--force-script-chrootless", "--force-confold", "--force-bad-path"]);
        output(dpkg.args(arguments))
    }

    /// The files there but those of dpkg itself.
    fn files(&self) -> Vec<String> {
        let relative = |path: PathBuf| path.strip_prefix(&self.0).ok().map(|path| path.display().to_string());
        let own = |path: &String| !path.starts_with("var/lib/dpkg");
        files(&self.0).into_iter().filter_map(relative).filter(own).collect()
    }
}

/// A package of a small program in front of the real one, since most of the time goes into packing it.
fn package(folder: &Path, version: &str) -> Result<String> {
    let mut build = Command::new(root().join("deploy/deb"));
    let build = build.arg(root().join("deploy/render")).arg(folder);
    let built = output(build.env("VERSION", version).env("STRANDLINE_NATIVE", PROGRAM))?;
    Ok(built.trim().to_owned())
}

#[test]
fn the_package_is_installed_upgraded_and_removed() -> Result<()> {
    if skip_without("the_package_is_installed_upgraded_and_removed", "dpkg-deb") {
        return Ok(());
    }
    let (folder, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (old, new) = (package(folder.path(), "0.1.0")?, package(folder.path(), "0.2.0")?);
    let first = fs::read(&old)?;
    assert_eq!(fs::read(package(folder.path(), "0.1.0")?)?, first, "it is reproducible");
    let there = Root::new(place.path())?;
    there.dpkg(&["-i", &old])?;
    let (config, unit) = ("etc/strandline/strandline.yaml", "usr/lib/systemd/system/strandline.service");
    let (pages, others): (Vec<String>, Vec<String>) =
        there.files().into_iter().partition(|path| path.starts_with("usr/share/man/man1/strandline"));
    let completion = ["bash-completion/completions/strandline", "fish/vendor_completions.d/strandline.fish"];
    let [bash, fish] = completion.map(|path| format!("usr/share/{path}"));
    let zsh = "usr/share/zsh/vendor-completions/_strandline";
    let copyright = "usr/share/doc/strandline/copyright";
    assert_eq!(others, [config, "usr/bin/strandline", unit, &bash, copyright, &fish, zsh]);
    assert!(pages.iter().any(|path| path.ends_with("/strandline-tree.1.gz")), "{pages:?}");
    // What the operator wrote and what the server recorded stay.
    let path = place.path().join(config);
    fs::write(&path, "listen: 127.0.0.1:1234\n")?;
    let record = "var/lib/private/strandline/log.db";
    fs::create_dir_all(place.path().join(record).parent().ok_or("no folder")?)?;
    fs::write(place.path().join(record), "")?;
    there.dpkg(&["-i", &new])?;
    assert_eq!(fs::read_to_string(&path)?, "listen: 127.0.0.1:1234\n");
    there.dpkg(&["-r", "strandline"])?;
    assert_eq!(there.files(), [config, record]);
    there.dpkg(&["-P", "strandline"])?;
    let left: Vec<_> = there.files().into_iter().filter(|path| !path.contains("dpkg-")).collect();
    assert_eq!(left, [record]);
    Ok(())
}

#[test]
fn the_configuration_of_the_package_is_read() {
    let text = read("deploy/debian/strandline.yaml");
    parse(&text, Path::new("/etc/strandline/strandline.yaml")).expect("as it is installed");
    // And what it shows in comments, without the prose.
    let shown =
        text.lines().skip_while(|line| *line != "# clusters:").filter_map(|line| line.strip_prefix("# "));
    let shown: Vec<&str> = shown.collect();
    let config = parse(&shown.join("\n"), Path::new("/etc/strandline/strandline.yaml")).expect("an example");
    assert_eq!(config.clusters.len(), 1);
}

#[test]
fn systemd_reads_the_unit_and_finds_it_hardened() -> Result<()> {
    if skip_without("systemd_reads_the_unit_and_finds_it_hardened", "systemd-analyze") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("strandline.service");
    // systemd looks whether the program is there.
    fs::write(&path, read(UNIT).replace("ExecStart=/usr/bin/strandline", &format!("ExecStart={PROGRAM}")))?;
    let path = path.display().to_string();
    let found = output(Command::new("systemd-analyze").args(["verify", &path]))?;
    assert!(!found.contains("strandline.service"), "{found}");
    // Of 10.0, which is a service without any restriction; most are at 9.6.
    output(Command::new("systemd-analyze").args(["security", "--offline=true", "--threshold=20", &path]))?;
    let wrong = read(UNIT).replace("ProtectSystem=strict", "ProtectSystems=strict");
    fs::write(&path, wrong.replace("ExecStart=/usr/bin/strandline", &format!("ExecStart={PROGRAM}")))?;
    let found = output(Command::new("systemd-analyze").args(["verify", &path]))?;
    assert!(found.contains("ProtectSystems"), "the test can fail: {found}");
    Ok(())
}
