-- The log: the only record. Rows of `change` are only ever added; the other tables are the writer's own
-- bookkeeping, written in the same transaction as the changes they speak of.

-- What is being recorded, by cluster and kind; facts of the catalog have no cluster.
CREATE TABLE kind (
    id      INTEGER PRIMARY KEY,
    cluster TEXT NOT NULL,
    "group" TEXT NOT NULL,
    kind    TEXT NOT NULL,
    UNIQUE (cluster, "group", kind)
) STRICT;

-- One row per incarnation of a resource, per fact of the catalog (no uid) and per watch (no name).
CREATE TABLE subject (
    id        INTEGER PRIMARY KEY,
    kind_id   INTEGER NOT NULL REFERENCES kind (id),
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    uid       TEXT NOT NULL,
    UNIQUE (kind_id, namespace, name, uid)
) STRICT;

-- Who makes changes: few values, named by many changes.
CREATE TABLE manager (
    id          INTEGER PRIMARY KEY,
    manager     TEXT NOT NULL,
    operation   TEXT NOT NULL,
    subresource TEXT NOT NULL,
    UNIQUE (manager, operation, subresource)
) STRICT;

CREATE TABLE change (
    "offset"         INTEGER PRIMARY KEY,
    observed_at      INTEGER NOT NULL,  -- microseconds since 1970, never less than in the row before
    type             INTEGER NOT NULL,  -- 1 applied, 2 deleted, 3 coverage, 4 declared, 5 withdrawn
    subject_id       INTEGER NOT NULL REFERENCES subject (id),
    resource_version TEXT,
    manager_id       INTEGER REFERENCES manager (id),
    managed_at       INTEGER,           -- microseconds since 1970, by the cluster's clock
    base             INTEGER,           -- offset of the keyframe, where the body is a delta
    dictionary_id    INTEGER,           -- dictionary of a keyframe; NULL for none
    body             BLOB,              -- a zstd frame; NULL where nothing more is to be said
    body_hash        BLOB NOT NULL,     -- of the text in `body`
    hash             BLOB NOT NULL      -- over this change and the hash of the one before
) STRICT;

CREATE TABLE dictionary (
    id    INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

-- What exists, as far as the log knows: decides whether an observation is a change and what a relist misses.
CREATE TABLE live (
    subject_id       INTEGER PRIMARY KEY REFERENCES subject (id),
    kind_id          INTEGER,           -- NULL for what no relist speaks of: coverage and the catalog
    resource_version TEXT NOT NULL,
    digest           BLOB NOT NULL,
    keyframe         INTEGER,           -- offset of its newest keyframe
    deltas           INTEGER NOT NULL,  -- changes stored against that keyframe
    seen_epoch       INTEGER NOT NULL
) STRICT;
CREATE INDEX live_by_kind ON live (kind_id, seen_epoch);

-- Where each watch resumes.
CREATE TABLE cursor (
    kind_id          INTEGER NOT NULL REFERENCES kind (id),
    namespace        TEXT NOT NULL,
    epoch            INTEGER NOT NULL,
    resource_version TEXT,              -- NULL until a list is complete
    seen_at          INTEGER,           -- when the cluster was last heard of, by our clock
    PRIMARY KEY (kind_id, namespace)
) STRICT;
