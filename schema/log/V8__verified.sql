-- When what is alive of a watch was last compared with all that the cluster has: by a full list or a consistency list.
-- Changes that no event told of happened after that.
ALTER TABLE cursor ADD COLUMN verified_at INTEGER;

-- Since when the cluster may have another store than the one that was recorded, as a stream broke or nobody watched: what
-- was recorded after that has not been compared with all that the cluster has. NULL where it was.
ALTER TABLE cursor ADD COLUMN unverified_since INTEGER;
UPDATE cursor SET verified_at = first_begun_at, unverified_since = first_begun_at;
