-- When what is alive of a watch was last compared with all that the cluster has: by a full list or a consistency list.
-- Changes that no event told of happened after that.
ALTER TABLE cursor ADD COLUMN verified_at INTEGER;
UPDATE cursor SET verified_at = first_begun_at;
