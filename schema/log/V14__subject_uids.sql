-- A uid that is a UUID, as Kubernetes writes it, takes sixteen bytes, and any other is its text. It stands in its row alone: a subject
-- is found by the name under which it goes, of which few ever had several.
CREATE TABLE subject_packed (
    id        INTEGER PRIMARY KEY,
    kind_id   INTEGER NOT NULL REFERENCES kind (id),
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    uid       ANY  NOT NULL
) STRICT;
INSERT INTO subject_packed
    SELECT id, kind_id, namespace, name, CASE
        WHEN length(CAST(uid AS BLOB)) = 36 AND uid GLOB '????????-????-????-????-????????????'
            AND length(replace(uid, '-', '')) = 32 AND replace(uid, '-', '') NOT GLOB '*[^0-9a-f]*'
        THEN unhex(replace(uid, '-', '')) ELSE uid END
    FROM subject;
DROP TABLE subject;
ALTER TABLE subject_packed RENAME TO subject;
CREATE INDEX subject_by_key ON subject (kind_id, namespace, name);
-- Facts, which have no uid, are found by their name wherever they stand.
CREATE INDEX subject_by_name ON subject (kind_id, name) WHERE uid = '';
