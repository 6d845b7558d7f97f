-- Solid frames: the bodies of versions that nothing is stored against any more, packed together. A change whose body lies
-- in a frame has none of its own; what it says, and its hash, stay as they were.
CREATE TABLE frame (
    id            INTEGER PRIMARY KEY,
    dictionary_id INTEGER,             -- NULL for none
    changes       INTEGER NOT NULL,    -- whose bodies lie in it
    bytes         BLOB NOT NULL        -- one zstd frame; unpacked, bodies one after the other, each after its length
) STRICT;
ALTER TABLE change ADD COLUMN frame_id INTEGER;
ALTER TABLE change ADD COLUMN frame_at INTEGER;   -- where in the unpacked frame the length of the body stands

-- Whoever lets a change or its body go need not know of frames: a frame goes with the last of its changes.
CREATE TRIGGER change_goes AFTER DELETE ON change WHEN OLD.frame_id IS NOT NULL BEGIN
    UPDATE frame SET changes = changes - 1 WHERE id = OLD.frame_id;
    DELETE FROM frame WHERE id = OLD.frame_id AND changes = 0;
END;
CREATE TRIGGER body_goes AFTER UPDATE OF frame_id ON change
    WHEN OLD.frame_id IS NOT NULL AND NEW.frame_id IS NOT OLD.frame_id BEGIN
    UPDATE frame SET changes = changes - 1 WHERE id = OLD.frame_id;
    DELETE FROM frame WHERE id = OLD.frame_id AND changes = 0;
END;

-- Keyframes that have a successor or whose subject has ended, with what is stored against them; they wait to be packed.
CREATE TABLE closed_group (
    keyframe INTEGER PRIMARY KEY,      -- its offset
    deltas   BLOB NOT NULL             -- how far behind it each delta lies, as LEB128
) STRICT;

-- The same of the keyframe that is open. NULL for what was written before there were frames.
ALTER TABLE live ADD COLUMN deltas_at BLOB;
