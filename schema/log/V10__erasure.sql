-- Changes from which a value was erased: their links cover the digest of what was recorded, and the mark (a change of type
-- 7) the digest of what is left. The newest mark of a change counts.
CREATE TABLE erased (
    "offset" INTEGER PRIMARY KEY,
    mark     INTEGER NOT NULL    -- the offset of the mark
) STRICT;

CREATE TRIGGER erased_goes AFTER DELETE ON change BEGIN
    DELETE FROM erased WHERE "offset" = OLD."offset";
END;
