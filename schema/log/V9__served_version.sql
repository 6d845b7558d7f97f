-- The version in which a cluster serves a kind, as its objects write it; a cursor holds only for the same. NULL in what was
-- written before this was known.
ALTER TABLE cursor ADD COLUMN served_version TEXT;

-- The definition of a custom kind: its stored version and its generation. NULL where it is not known.
ALTER TABLE cursor ADD COLUMN definition TEXT;

-- 1 from the moment at which either changed until a list has shown every object in its new shape: under the same
-- resourceVersion it may be another one.
ALTER TABLE cursor ADD COLUMN reshaped INTEGER NOT NULL DEFAULT 0;
