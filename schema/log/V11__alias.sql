-- By what else a fact is found: an environment, whose name is its id, by its project and the name that it has there. NULL for
-- everything else, and in what was written before until the log is next opened.
ALTER TABLE live ADD COLUMN alias TEXT;
CREATE INDEX live_by_alias ON live (alias) WHERE alias IS NOT NULL;
