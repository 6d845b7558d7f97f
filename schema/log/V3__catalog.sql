-- Who declares a fact of the catalog; NULL for everything else. What was declared before was declared by the configuration.
ALTER TABLE live ADD COLUMN source TEXT;

-- A fact's keyframe is where it was declared last.
UPDATE live SET source = 'config', keyframe = declared."offset"
    FROM (SELECT subject_id, max("offset") AS "offset" FROM change WHERE type = 4 GROUP BY subject_id) AS declared
    WHERE declared.subject_id = live.subject_id;

-- Facts, which have no uid, are found by their name wherever they stand.
CREATE INDEX subject_by_name ON subject (kind_id, name) WHERE uid = '';
