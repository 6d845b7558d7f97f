//! Clusters that come and go with the files of a folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::server::{Result, Server, ids, items, names};
use crate::simulated::{add_pod, cluster};

/// A Secret that is mounted as a folder.
struct Mounted<'a> {
    folder: &'a Path,
    version: u32,
}

impl Mounted<'_> {
    /// Brings it up to date as the kubelet does: a new folder, one rename, then the links of keys that are gone.
    fn write(&mut self, files: &[(&str, String)]) -> Result<()> {
        self.version += 1;
        let version = format!("..2026_{}", self.version);
        fs::create_dir_all(self.folder.join(&version))?;
        for (name, text) in files {
            fs::write(self.folder.join(&version).join(name), text)?;
        }
        symlink(&version, self.folder.join("..data_tmp"))?;
        fs::rename(self.folder.join("..data_tmp"), self.folder.join("..data"))?;
        for (name, _) in files {
            if fs::symlink_metadata(self.folder.join(name)).is_err() {
                symlink(format!("..data/{name}"), self.folder.join(name))?;
            }
        }
        for entry in fs::read_dir(self.folder)? {
            let name = entry?.file_name();
            let is_gone = !files.iter().any(|(file, _)| name == **file);
            if is_gone && !name.to_string_lossy().starts_with('.') {
                fs::remove_file(self.folder.join(name))?;
            }
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_come_go_and_change_with_the_files_of_a_mounted_secret() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mounted = folder.path().join("kubeconfigs");
    fs::create_dir(&mounted)?;
    let mut secret = Mounted { folder: &mounted, version: 0 };
    let (one, two) = (cluster("one").await?, cluster("two").await?);
    let broken = "users: [{name: u, user: {token: canary-token}}]\nclusters: [".to_owned();
    let of_a_file = one.kubeconfig().replace("user: {}", "user: {tokenFile: /etc/hostname}");
    assert!(of_a_file.contains("tokenFile"), "{of_a_file}");
    let file = |name: &'static str, text: &str| (name, text.to_owned());
    let mut files = vec![
        file("eu-1.yaml", &one.kubeconfig()),
        file("broken.yaml", &broken),
        file("outside.kubeconfig", &of_a_file),
    ];
    secret.write(&files)?;
    let config = "cluster_folders:\n  - path: kubeconfigs\n    namespace_environments: {project: fleet}\n\
                  environments:\n  - {project: shop/web, name: later, cluster: us-1, namespace: shop}\n";
    let server = Server::start(folder.path(), config).await?;

    // Files that cannot be used are clusters in a gap, and what can be recorded is.
    let resources = "/environments/fleet.shop/resources";
    server.until(resources, |list| names(list) == ["one"]).await?;
    for name in ["broken", "outside"] {
        let gap = |list: &Value| items(list).any(|watch| watch["reason"] == "credentials");
        server.until(&format!("/coverage?cluster={name}&state=gap"), gap).await?;
    }
    assert_eq!(ids(&server.ask("/clusters").await?), ["broken", "eu-1", "outside"]);
    assert!(!server.output().contains("canary-token"), "{}", server.output());

    // Another file is another cluster, which what was configured before it finds; the first goes on without a gap.
    files.push(file("us-1.yaml", &two.kubeconfig()));
    secret.write(&files)?;
    server.until("/environments/shop.web.later/resources", |list| names(list) == ["two"]).await?;
    server.until_logged("clusters added: us-1").await?;

    // What a file contains is followed: another server, of that cluster only.
    let three = cluster("three").await?;
    files[1] = file("broken.yaml", &three.kubeconfig());
    secret.write(&files)?;
    server.until_logged("clusters changed: broken\"").await?;
    server.until("/coverage?cluster=broken&state=gap", |gaps| items(gaps).count() == 0).await?;
    server.until(resources, |list| names(list) == ["one", "three", "two"]).await?;
    let head = server.ask("/clusters").await?["metadata"]["offset"].as_u64().ok_or("an offset")?;
    for name in ["eu-1", "us-1"] {
        // From the first Pod on nothing is missing of those that did not change.
        let reasons = server.ask(&format!("/coverage?cluster={name}&state=gap&at={head}")).await?;
        assert_eq!(items(&reasons).count(), 0, "{reasons:#}");
        assert!(!server.output().contains(&format!("clusters changed: {name}")), "{}", server.output());
    }

    // A file that is removed takes its cluster out, and no other.
    files.retain(|(name, _)| *name != "eu-1.yaml");
    secret.write(&files)?;
    server.until_logged("clusters removed: eu-1,").await?;
    server.until("/clusters", |list| ids(list) == ["broken", "outside", "us-1"]).await?;
    add_pod(&two, "more");
    server.until("/environments/shop.web.later/resources", |list| names(list) == ["more", "two"]).await?;

    // A folder that is gone is a mistake, which changes nothing; it counts again once it is back.
    fs::rename(&mounted, folder.path().join("aside"))?;
    server.until_logged("the previous configuration stays in effect").await?;
    add_pod(&two, "next");
    server.until("/environments/shop.web.later/resources", |list| names(list).contains(&"next")).await?;
    assert_eq!(ids(&server.ask("/clusters").await?), ["broken", "outside", "us-1"]);
    fs::rename(folder.path().join("aside"), &mounted)?;
    files.push(file("eu-1.yaml", &one.kubeconfig()));
    secret.write(&files)?;
    server.until("/clusters", |list| ids(list) == ["broken", "eu-1", "outside", "us-1"]).await?;
    server.stop().await
}
