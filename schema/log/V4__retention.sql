-- What retention has let go: up to `swept` the log holds no more than what `kept` names, all of it above.
CREATE TABLE compaction (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    compacted    INTEGER NOT NULL,    -- the oldest offset that can be asked for, and below the newest there is
    compacted_at INTEGER,             -- when the change there was observed; NULL while nothing was let go
    swept        INTEGER NOT NULL,    -- never past `compacted`, which moves first
    hash         BLOB NOT NULL,       -- of the change at `swept`, from which the chain goes on
    kept         INTEGER NOT NULL,    -- how many rows `kept` has, so that one that vanishes is missed …
    digest       BLOB NOT NULL        -- … and the hashes of their changes, all of them XORed
) STRICT;
INSERT INTO compaction VALUES (1, 0, NULL, 0, zeroblob(16), 0, zeroblob(16));

-- Of each subject the change that holds at `swept`, with the keyframe against which it is stored. The hashes of the
-- changes before them are kept too, by which each link can still be verified.
CREATE TABLE kept (
    subject_id    INTEGER PRIMARY KEY REFERENCES subject (id),
    "offset"      INTEGER NOT NULL UNIQUE,
    previous      BLOB NOT NULL,
    base          INTEGER,
    base_previous BLOB
) STRICT;

-- Subjects that have ended, and an offset after which nothing is said of them unless they come back: once all up to
-- there is swept, nothing refers to them any more.
CREATE TABLE ended (
    subject_id INTEGER PRIMARY KEY REFERENCES subject (id),
    "offset"   INTEGER NOT NULL
) STRICT;
CREATE INDEX ended_by_offset ON ended ("offset");
INSERT INTO ended SELECT id, (SELECT coalesce(max("offset"), 0) FROM change) FROM subject
    WHERE id NOT IN (SELECT subject_id FROM live);
