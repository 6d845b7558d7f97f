-- What retention lets go of single kinds before the rest. Up to `thinned` only what holds there has its body left; the
-- other states of the kind are rows without one, which the chain still ties to all others.
CREATE TABLE thinning (
    kind_id  INTEGER PRIMARY KEY REFERENCES kind (id),
    floor    INTEGER NOT NULL,    -- the oldest offset at which the kind is known; it moves before anything goes
    floor_at INTEGER NOT NULL,    -- when the change there was observed
    thinned  INTEGER NOT NULL     -- never past `floor`
) STRICT;

-- Of each subject of such a kind the state that holds at `thinned`, with the keyframe against which it is stored.
CREATE TABLE held (
    subject_id INTEGER PRIMARY KEY REFERENCES subject (id),
    "offset"   INTEGER NOT NULL,
    base       INTEGER
) STRICT;
