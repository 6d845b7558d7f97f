-- What a scope sees, beside the view of a reader and for it alone: nothing of it is in a file.

-- Whose sets these are, made after which change of the catalog; whether it is better to begin with them than with what
-- everybody sees; and at which offset the places were looked at.
CREATE TEMP TABLE sight (scope BLOB NOT NULL, since INTEGER NOT NULL, narrow INTEGER NOT NULL, places_at INTEGER);
-- Paths of projects and groups, and the agents that let the scope in.
CREATE TEMP TABLE sight_path (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE sight_agent (agent TEXT PRIMARY KEY) WITHOUT ROWID;
-- Places that it may read, by the name of the cluster; all of a cluster where no namespace is named.
CREATE TEMP TABLE sight_allowed (
    cluster TEXT NOT NULL, namespace TEXT NOT NULL, PRIMARY KEY (cluster, namespace)
) WITHOUT ROWID;
-- Audiences it belongs to, and those whose agents let it in or all of whose places
-- it may read; and the projects of the former.
CREATE TEMP TABLE sight_sees (audience INTEGER PRIMARY KEY);
CREATE TEMP TABLE sight_reads (audience INTEGER PRIMARY KEY);
CREATE TEMP TABLE sight_project (path TEXT PRIMARY KEY) WITHOUT ROWID;
-- Where the environments look that it reads.
CREATE TEMP TABLE sight_place (
    cluster_id INTEGER NOT NULL, namespace TEXT NOT NULL, PRIMARY KEY (cluster_id, namespace)
) WITHOUT ROWID;
