-- Which cluster answers under a name: the uid of its namespace kube-system. Another uid is another cluster, whose
-- changes are not those that the cursors speak of.
CREATE TABLE cluster_identity (
    cluster TEXT PRIMARY KEY,
    uid     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What of a kind a watch asks for, as selectors; a cursor holds only for the same question.
ALTER TABLE cursor ADD COLUMN selector TEXT NOT NULL DEFAULT '';

-- 1 from the moment at which the question changed until a list has answered it: what that list misses need not be gone.
ALTER TABLE cursor ADD COLUMN reselected INTEGER NOT NULL DEFAULT 0;

-- When the watch began for the first time, and when its present run began; both by our clock.
ALTER TABLE cursor ADD COLUMN first_begun_at INTEGER;
ALTER TABLE cursor ADD COLUMN begun_at INTEGER;
