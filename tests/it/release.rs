//! The files of a release, made of small programs in front of the real ones, since most of the time goes into packing those.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::checkout::root;
use crate::not_run::left_out;
use crate::server::{PROGRAM, Result};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a command prints; its errors are errors here.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn skip_without(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| Command::new(program).output().is_err());
    let Some(missing) = missing else { return false };
    left_out(test, &format!("{missing} is missing"));
    true
}

/// Makes a release into a folder.
fn release(folder: &Path, key: Option<&Path>) -> Result<PathBuf> {
    let place = |path: &str| root().join(path).display().to_string();
    let mut command = Command::new(root().join("deploy/release"));
    command.arg(folder).arg(format!("amd64={}", place("deploy/render")));
    command.arg(format!("arm64={}", place("deploy/deb"))).env("STRANDLINE_NATIVE", PROGRAM);
    command.env("SBOM", "no").env("SOURCE_DATE_EPOCH", "1790000000").env_remove("SIGNING_KEY");
    if let Some(key) = key {
        command.env("SIGNING_KEY", key);
    }
    Ok(output(&mut command)?.trim().into())
}

fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

#[test]
fn a_release_is_whole_reproducible_and_verified_by_its_signature() -> Result<()> {
    let test = "a_release_is_whole_reproducible_and_verified_by_its_signature";
    if skip_without(test, &["dpkg-deb", "ssh-keygen", "sha256sum"]) {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let key = folder.path().join("key");
    output(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&key))?;
    let one = release(&folder.path().join("one"), Some(&key))?;
    let two = release(&folder.path().join("two"), None)?;
    let mut expected: BTreeSet<String> = ["image.tar", "manifests.yaml", "krew.yaml", "compose.tar.gz"]
        .map(|name| format!("strandline_{VERSION}_{name}"))
        .into();
    for architecture in ["amd64", "arm64"] {
        expected.insert(format!("strandline_{VERSION}_linux_{architecture}.tar.gz"));
        expected.insert(format!("strandline_{VERSION}_{architecture}.deb"));
    }
    expected.extend([format!("strandline-{VERSION}.tgz"), "SHA256SUMS".to_owned()]);
    assert_eq!(names(&two)?, expected);
    for name in &expected {
        assert!(fs::read(one.join(name))? == fs::read(two.join(name))?, "{name} is another one");
    }

    // As the documents say, for somebody who has the key's other half.
    let signers = folder.path().join("allowed_signers");
    let public = fs::read_to_string(folder.path().join("key.pub"))?;
    fs::write(&signers, format!("releases@strandline {public}"))?;
    let verify = || -> Result<String> {
        let mut verify = Command::new("ssh-keygen");
        verify
            .args(["-Y", "verify", "-n", "strandline-release", "-I", "releases@strandline", "-f"])
            .arg(&signers);
        verify.arg("-s").arg(one.join("SHA256SUMS.sig")).stdin(fs::File::open(one.join("SHA256SUMS"))?);
        output(&mut verify)
    };
    verify()?;
    output(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&one))?;
    let sums = fs::read_to_string(one.join("SHA256SUMS"))?;
    assert_eq!(sums.lines().count(), expected.len() - 1, "{sums}");
    fs::write(one.join("SHA256SUMS"), sums.replacen('a', "b", 1))?;
    assert!(verify().is_err(), "the test can fail");
    Ok(())
}

#[test]
fn the_plug_in_of_krew_is_what_the_release_contains() -> Result<()> {
    if skip_without("the_plug_in_of_krew_is_what_the_release_contains", &["dpkg-deb", "sha256sum"]) {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let made = release(&folder.path().join("release"), None)?;
    let text = fs::read_to_string(made.join(format!("strandline_{VERSION}_krew.yaml")))?;
    let plugin: Value = serde_saphyr::from_str(&text)?;
    assert_eq!(plugin["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2");
    assert_eq!((&plugin["kind"], &plugin["metadata"]["name"]), (&"Plugin".into(), &"strandline".into()));
    assert_eq!(plugin["spec"]["version"], format!("v{VERSION}"));
    // The index of Krew takes no longer one.
    assert!(plugin["spec"]["shortDescription"].as_str().is_some_and(|text| text.len() <= 70), "{text}");
    let sums = fs::read_to_string(made.join("SHA256SUMS"))?;
    let platforms = plugin["spec"]["platforms"].as_array().ok_or("no platforms")?;
    for (platform, architecture) in platforms.iter().zip(["amd64", "arm64"]) {
        assert_eq!(platform["selector"]["matchLabels"]["arch"], architecture);
        let name = format!("strandline_{VERSION}_linux_{architecture}.tar.gz");
        let sum = platform["sha256"].as_str().unwrap_or_default();
        assert!(sums.contains(&format!("{sum}  {name}\n")), "{sums}");
        assert!(platform["uri"].as_str().is_some_and(|uri| uri.ends_with(&format!("/{name}"))), "{text}");
        // Each file that it takes out is there, and the program among them can be run.
        let files = output(Command::new("tar").arg("-tvzf").arg(made.join(&name)))?;
        for file in platform["files"].as_array().into_iter().flatten() {
            let from = file["from"].as_str().unwrap_or_default();
            assert!(files.lines().any(|line| line.ends_with(&format!(" {from}"))), "{files}");
        }
        let bin = platform["bin"].as_str().unwrap_or_default();
        let is_program =
            |line: &str| line.starts_with("-rwxr-xr-x 0/0") && line.ends_with(&format!(" {bin}"));
        assert!(files.lines().any(is_program), "{files}");
    }
    assert_eq!(platforms.len(), 2);
    Ok(())
}

/// What registries and engines look for: a name, an index of both architectures, and blobs under their digests.
#[test]
fn the_image_of_a_release_has_both_architectures() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let layout = folder.path().join("image");
    let mut image = Command::new(root().join("deploy/image"));
    let program = root().join("deploy/render").display().to_string();
    let digest = output(image.arg(&layout).arg(format!("amd64={program}")).arg(format!("arm64={program}")))?;
    let blob = |digest: &str| -> Result<Value> {
        let name = digest.trim().strip_prefix("sha256:").ok_or("a digest")?.to_owned();
        Ok(serde_json::from_slice(&fs::read(layout.join("blobs/sha256").join(name))?)?)
    };
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
    assert_eq!(index["manifests"][0]["digest"], digest.trim());
    assert_eq!(index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], VERSION);
    let of_both = blob(&digest)?;
    let mut found = Vec::new();
    for entry in of_both["manifests"].as_array().ok_or("no manifests")? {
        let manifest = blob(entry["digest"].as_str().unwrap_or_default())?;
        let config = blob(manifest["config"]["digest"].as_str().unwrap_or_default())?;
        assert_eq!(config["architecture"], entry["platform"]["architecture"]);
        assert_eq!(config["config"]["User"], "65532:65532");
        found.push(config["architecture"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(found, ["amd64", "arm64"]);
    Ok(())
}
