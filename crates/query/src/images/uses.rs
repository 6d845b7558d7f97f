//! The uses of images as the view keeps them: a resource of an environment, an image, and from when to when.

use rusqlite::{Connection, Row, named_params};

use crate::error::Result;
use crate::scope::{ResolvedScope, reads};
use strandline_model::Offset;
use strandline_syntax::{Image, ImagePattern};

/// Offsets between which an image has to have been there, both among them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: Offset,
    pub(super) to: Offset,
}

/// One resource of an environment that has an image, and from when to when.
pub(super) struct Use {
    pub(super) image: Image,
    pub(super) environment: Environment,
    /// The view's numbers.
    pub(super) resource: i64,
    pub(super) owner: Option<i64>,
    pub(super) pod: bool,
    pub(super) from: i64,
    pub(super) to: i64,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Environment {
    pub(super) number: i64,
    pub(super) id: String,
    pub(super) project: String,
    pub(super) name: String,
    pub(super) tier: String,
    pub(super) region: String,
}

impl Use {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Use {
            image: Image { repository: row.get(0)?, tag: row.get(1)?, digest: row.get(2)? },
            environment: Environment {
                number: row.get(3)?,
                id: row.get(4)?,
                project: row.get(5)?,
                name: row.get(6)?,
                tier: row.get(7)?,
                region: row.get(8)?,
            },
            resource: row.get(9)?,
            owner: row.get(10)?,
            pod: row.get(11)?,
            from: row.get(12)?,
            to: row.get(13)?,
        })
    }

    /// What stands together: the digests of one tag do.
    pub(super) fn place(&self) -> [String; 4] {
        let Image { repository, tag, digest } = &self.image;
        let pinned = if tag.is_empty() { digest.clone() } else { String::new() };
        [repository.clone(), tag.clone(), pinned, self.environment.id.clone()]
    }
}

/// Uses in the order of the list, of images `i` joined as given.
macro_rules! select_uses {
    ($from:literal, $which:literal) => {
        concat!(
            "SELECT i.repository, i.tag, i.digest, e.id, e.name_id, e.project, e.name, e.tier, e.region,
                m.resource_id, m.owner_id, k.kind = 'Pod' AND k.\"group\" = '',
                max(u.from_offset, m.from_offset, e.from_offset) AS since,
                min(u.to_offset, m.to_offset, e.to_offset) AS until
            FROM ",
            $from,
            " WHERE (:images IS NULL OR i.id IN (SELECT value FROM json_each(:images)))
                AND (:environments IS NULL OR e.name_id IN (SELECT value FROM json_each(:environments)))
                AND ",
            $which,
            " AND (:tiers IS NULL OR e.tier IN (SELECT value FROM json_each(:tiers)))
                AND (:regions IS NULL OR e.region IN (SELECT value FROM json_each(:regions)))
                AND (i.repository, i.tag, CASE i.tag WHEN '' THEN i.digest ELSE '' END, e.name_id)
                    > (:repository, :tag, :digest, :id)
                AND since <= :to AND until > :from AND since < until
                AND ",
            reads!(),
            " ORDER BY i.repository, i.tag, CASE i.tag WHEN '' THEN i.digest ELSE '' END, e.name_id, since"
        )
    };
}

/// By images, in their order: a page is read no further than it goes.
const BY_IMAGE: &str = select_uses!(
    "image i CROSS JOIN image_use u ON u.image_id = i.id CROSS JOIN membership m ON m.resource_id = u.resource_id
        CROSS JOIN environment e ON e.id = m.environment_id JOIN kind k ON k.id = m.kind_id",
    ":environment IS NULL"
);

/// By what one environment held.
const BY_ENVIRONMENT: &str = select_uses!(
    "membership m CROSS JOIN image_use u ON u.resource_id = m.resource_id JOIN image i ON i.id = u.image_id
        CROSS JOIN environment e ON e.id = m.environment_id JOIN kind k ON k.id = m.kind_id",
    "m.environment_id = :environment"
);

/// By what the environments held that a scope reads.
const OF_SCOPE: &str = select_uses!(
    "(SELECT DISTINCT x.environment_id FROM temp.sight_reads s CROSS JOIN environment_audience x
            INDEXED BY environment_audience_by_audience ON x.audience = s.audience) mine
        CROSS JOIN membership m ON m.environment_id = mine.environment_id AND m.from_offset <= :to AND m.to_offset > :from
        CROSS JOIN image_use u ON u.resource_id = m.resource_id JOIN image i ON i.id = u.image_id
        CROSS JOIN environment e ON e.id = m.environment_id JOIN kind k ON k.id = m.kind_id",
    ":environment IS NULL"
);

/// The view's numbers of the images that are meant; none where all are.
pub(super) fn images(view: &Connection, patterns: &[ImagePattern]) -> Result<Option<Vec<i64>>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut statement = view.prepare_cached("SELECT id, repository, tag, digest FROM image")?;
    let mut rows = statement.query([])?;
    let mut meant = Vec::new();
    while let Some(row) = rows.next()? {
        let image = Image { repository: row.get(1)?, tag: row.get(2)?, digest: row.get(3)? };
        if patterns.iter().any(|pattern| pattern.matches(&image)) {
            meant.push(row.get(0)?);
        }
    }
    Ok(Some(meant))
}

/// Which uses are meant.
pub(super) struct Meant {
    /// JSON: the view's numbers of the images; all if there is none.
    pub(super) images: Option<String>,
    /// JSON: ids of the environments.
    pub(super) environments: Option<String>,
    pub(super) tiers: Option<String>,
    pub(super) regions: Option<String>,
    /// The view's number of the one environment that was asked for.
    pub(super) environment: Option<i64>,
    pub(super) span: Span,
    /// Those after this place.
    pub(super) after: [String; 4],
}

/// The uses that are meant, in the order of the list, until `take` wants no more.
pub(super) fn each_use(
    view: &Connection,
    scope: &ResolvedScope,
    meant: &Meant,
    mut take: impl FnMut(Use) -> bool,
) -> Result<()> {
    let sql = match meant.environment {
        Some(_) => BY_ENVIRONMENT,
        None if scope.is_narrow() => OF_SCOPE,
        None => BY_IMAGE,
    };
    let [repository, tag, digest, id] = &meant.after;
    let mut statement = view.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! {
        ":images": meant.images, ":environments": meant.environments, ":environment": meant.environment,
        ":scope": scope.as_sql(), ":tiers": meant.tiers, ":regions": meant.regions,
        ":repository": repository, ":tag": tag, ":digest": digest, ":id": id,
        ":from": meant.span.from.as_i64(), ":to": meant.span.to.as_i64(),
    })?;
    while let Some(row) = rows.next()? {
        if !take(Use::from_row(row)?) {
            break;
        }
    }
    Ok(())
}
