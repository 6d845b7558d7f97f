//! Where resources stand, as the view's writer remembers it: an incarnation stays where it is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::context::Apply;
use strandline_model::{Kind, ResourceId};
use strandline_sqlite::column::PackedUid;

/// The most addresses that are kept in memory.
const ADDRESSES_MAX: usize = 8_192;

/// Where a resource stands.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) cluster: i64,
    /// The view's number of the kind in that cluster.
    pub(super) kind_id: i64,
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

/// Addresses already looked up.
#[derive(Debug, Default)]
pub(super) struct Addresses(RefCell<HashMap<ResourceId, Arc<Address>>>);

/// The address of a resource that the view has.
pub(super) fn address(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Arc<Address>> {
    let mut known = at.ids.addresses.0.borrow_mut();
    if let Some(address) = known.get(&id) {
        return Ok(address.clone());
    }
    let sql = r#"SELECT r.cluster_id, r.kind_id, k."group", k.kind, r.namespace, r.name, r.uid
        FROM resource r JOIN kind k ON k.id = r.kind_id WHERE r.id = ?1"#;
    let address = at.connection.prepare_cached(sql)?.query_row([id], |row| {
        Ok(Address {
            cluster: row.get(0)?,
            kind_id: row.get(1)?,
            kind: Kind::new(row.get::<_, String>(2)?, row.get::<_, String>(3)?),
            namespace: row.get(4)?,
            name: row.get(5)?,
            uid: row.get::<_, PackedUid<String>>(6)?.0,
        })
    })?;
    Ok(remember(&mut known, id, address))
}

impl Addresses {
    /// Remembers where a resource stands that has just come.
    pub(super) fn introduce(&self, id: ResourceId, address: Address) {
        remember(&mut self.0.borrow_mut(), id, address);
    }
}

fn remember(known: &mut HashMap<ResourceId, Arc<Address>>, id: ResourceId, address: Address) -> Arc<Address> {
    if known.len() >= ADDRESSES_MAX {
        known.clear();
    }
    let address = Arc::new(address);
    known.insert(id, address.clone());
    address
}
