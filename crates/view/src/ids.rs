//! The view's numbers for clusters, environments, kinds and far ends of edges.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::addresses::Addresses;
use super::label_names::LabelNames;
use super::labels::Sought;
use super::membership::Targets;
use super::numbered::{Numbered, WORDS};
use super::search_lines::SearchLines;
use strandline_model::{DeploymentId, EnvironmentId, Kind, Offset, ResourceId};
use strandline_sqlite::column::PackedUid;
use strandline_syntax::Image;

/// The most kinds kept in memory. Objects can claim owners of any kind, so their number is not ours to trust.
const KINDS_MAX: usize = 100_000;

/// The most field managers kept in memory: whoever writes to a cluster names itself.
const MANAGERS_MAX: usize = 10_000;

/// The most images kept in memory.
const IMAGES_MAX: usize = 8_192;

/// The most controllers of environments kept in memory.
const CONTROLLERS_MAX: usize = 131_072;

/// The most far ends of edges kept in memory.
const FAR_MAX: usize = 16_384;

/// Numbers already looked up.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) addresses: Addresses,
    pub(super) label_names: LabelNames,
    pub(super) sought: Sought,
    pub(super) targets: Targets,
    pub(super) words: Numbered,
    clusters: HashMap<String, i64>,
    kinds: Kinds,
    far: HashMap<FarEnd<'static>, i64>,
    managers: HashMap<String, i64>,
    images: HashMap<Image, i64>,
    controllers: HashSet<(i64, i64)>,
    /// The highest number of a resource of which there is a version, once it was asked for.
    newest: Option<i64>,
}

/// The numbers of kinds, by cluster: they are looked for by what is borrowed.
#[derive(Debug, Default)]
struct Kinds {
    by_cluster: HashMap<i64, HashMap<Kind, i64>>,
    size: usize,
}

/// A far end of edges, as its columns have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FarEnd<'a> {
    pub(super) kind: i64,
    pub(super) uid: Cow<'a, str>,
    pub(super) namespace: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
}

impl FarEnd<'_> {
    fn into_owned(self) -> FarEnd<'static> {
        let FarEnd { kind, uid, namespace, name } = self;
        let owned = |text: Cow<'_, str>| -> Cow<'static, str> { Cow::Owned(text.into_owned()) };
        FarEnd { kind, uid: owned(uid), namespace: owned(namespace), name: owned(name) }
    }
}

impl Ids {
    /// None; a kind is filed by so many names of labels one by one.
    pub(super) fn new(label_names: usize) -> Self {
        Ids {
            addresses: Addresses::default(),
            label_names: LabelNames::default(),
            sought: Sought::new(label_names),
            targets: Targets::default(),
            words: Numbered::new(WORDS),
            clusters: HashMap::new(),
            kinds: Kinds::default(),
            far: HashMap::new(),
            managers: HashMap::new(),
            images: HashMap::new(),
            controllers: HashSet::new(),
            newest: None,
        }
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        *self = Ids::new(self.sought.names);
    }

    pub(super) fn cluster(&mut self, connection: &Connection, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.clusters.get(name) {
            return Ok(*id);
        }
        let select = "SELECT id FROM cluster WHERE name = ?1";
        let found = connection.prepare_cached(select)?.query_row([name], |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached("INSERT INTO cluster (name) VALUES (?1)")?.insert([name])?,
        };
        self.clusters.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Whether a resource has a higher number than all of which the view has a version. The log numbers them upwards, so that most
    /// newcomers show by that.
    pub(super) fn is_newer(&mut self, connection: &Connection, id: ResourceId) -> rusqlite::Result<bool> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => {
                let select = "SELECT coalesce(max(resource_id), 0) FROM version";
                connection.prepare_cached(select)?.query_row([], |row| row.get(0))?
            }
        };
        self.newest = Some(newest);
        Ok(id.0 > newest)
    }

    /// Notes a resource of which the view has a version from here on.
    pub(super) fn note_newest(&mut self, id: ResourceId) {
        self.newest = self.newest.map(|newest| newest.max(id.0));
    }

    /// The number of an environment's name, which it keeps whatever becomes of the environment.
    pub(super) fn environment(
        &mut self,
        connection: &Connection,
        name: &EnvironmentId,
    ) -> rusqlite::Result<i64> {
        let (select, insert) = (
            "SELECT id FROM environment_name WHERE name_id = ?1",
            "INSERT INTO environment_name (name_id) VALUES (?1)",
        );
        let found = connection.prepare_cached(select)?.query_row([name], |row| row.get(0)).optional()?;
        found.map_or_else(|| connection.prepare_cached(insert)?.insert([name]), Ok)
    }

    /// The number of a project's deployment, whatever becomes of it.
    pub(super) fn deployment(
        &mut self,
        connection: &Connection,
        project: &str,
        number: DeploymentId,
    ) -> rusqlite::Result<i64> {
        let (select, insert) = (
            "SELECT id FROM deployment_name WHERE number = ?1 AND project = ?2",
            "INSERT INTO deployment_name (number, project) VALUES (?1, ?2)",
        );
        let key = params![number, project];
        let found = connection.prepare_cached(select)?.query_row(key, |row| row.get(0)).optional()?;
        found.map_or_else(|| connection.prepare_cached(insert)?.insert(key), Ok)
    }

    pub(super) fn kind(
        &mut self,
        connection: &Connection,
        cluster: i64,
        kind: &Kind,
    ) -> rusqlite::Result<i64> {
        if let Some(id) = self.kinds.by_cluster.get(&cluster).and_then(|kinds| kinds.get(kind)) {
            return Ok(*id);
        }
        let key = params![cluster, kind.group, kind.kind];
        let select = r#"SELECT id FROM kind WHERE cluster_id = ?1 AND "group" = ?2 AND kind = ?3"#;
        let insert = r#"INSERT INTO kind (cluster_id, "group", kind) VALUES (?1, ?2, ?3)"#;
        let found = connection.prepare_cached(select)?.query_row(key, |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached(insert)?.insert(key)?,
        };
        if self.kinds.size >= KINDS_MAX {
            self.kinds = Kinds::default();
        }
        self.kinds.by_cluster.entry(cluster).or_default().insert(kind.clone(), id);
        self.kinds.size += 1;
        Ok(id)
    }

    /// The number of a field manager.
    pub(super) fn manager(&mut self, connection: &Connection, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.managers.get(name) {
            return Ok(*id);
        }
        let (select, insert) =
            ("SELECT id FROM manager WHERE name = ?1", "INSERT INTO manager (name) VALUES (?1)");
        let found = connection.prepare_cached(select)?.query_row([name], |row| row.get(0)).optional()?;
        let id = found.map_or_else(|| connection.prepare_cached(insert)?.insert([name]), Ok)?;
        if self.managers.len() >= MANAGERS_MAX {
            self.managers.clear();
        }
        self.managers.insert(name.to_owned(), id);
        Ok(id)
    }

    /// The number of an image; one that is new is noted for search.
    pub(super) fn image(
        &mut self,
        connection: &Connection,
        image: &Image,
        lines: &mut SearchLines,
    ) -> rusqlite::Result<i64> {
        if let Some(id) = self.images.get(image) {
            return Ok(*id);
        }
        let select = "SELECT id FROM image WHERE repository = ?1 AND tag = ?2 AND digest = ?3";
        let insert = "INSERT INTO image (repository, tag, digest) VALUES (?1, ?2, ?3)";
        let Image { repository, tag, digest } = image;
        let row = params![repository, tag, digest];
        let found = connection.prepare_cached(select)?.query_row(row, |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                let id = connection.prepare_cached(insert)?.insert(row)?;
                lines.add_image(id);
                id
            }
        };
        if self.images.len() >= IMAGES_MAX {
            self.images.clear();
        }
        self.images.insert(image.clone(), id);
        Ok(id)
    }

    /// Keeps that a field manager is a controller in an environment from an offset on, unless it is one already.
    pub(super) fn note_controller(
        &mut self,
        connection: &Connection,
        environment: i64,
        manager: i64,
        since: Offset,
    ) -> rusqlite::Result<()> {
        if self.controllers.contains(&(environment, manager)) {
            return Ok(());
        }
        let sql = "INSERT OR IGNORE INTO controller (environment_id, manager_id, since) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute(params![environment, manager, since])?;
        if self.controllers.len() >= CONTROLLERS_MAX {
            self.controllers.clear();
        }
        self.controllers.insert((environment, manager));
        Ok(())
    }

    pub(super) fn far(&mut self, connection: &Connection, far: FarEnd<'_>) -> rusqlite::Result<i64> {
        let known: &HashMap<FarEnd<'_>, i64> = &self.far;
        if let Some(id) = known.get(&far) {
            return Ok(*id);
        }
        let columns = params![far.kind, PackedUid(&far.uid), far.namespace, far.name];
        // Which index serves has to be seen from the words.
        let select = if far.uid.is_empty() {
            "SELECT id FROM far WHERE kind_id = ?1 AND uid = '' AND uid = ?2 AND namespace = ?3 AND name = ?4"
        } else {
            "SELECT id FROM far WHERE kind_id = ?1 AND uid <> '' AND uid = ?2 AND namespace = ?3 AND name = ?4"
        };
        let insert = "INSERT INTO far (kind_id, uid, namespace, name) VALUES (?1, ?2, ?3, ?4)";
        let found = connection.prepare_cached(select)?.query_row(columns, |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached(insert)?.insert(columns)?,
        };
        if self.far.len() >= FAR_MAX {
            self.far.clear();
        }
        self.far.insert(far.into_owned(), id);
        Ok(id)
    }
}
