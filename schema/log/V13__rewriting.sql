-- Changes that are being written anew in their place, so that the pages which moved bodies left half empty become full again:
-- while they are deleted and inserted nothing else goes with them. A row is there only within such a transaction.
CREATE TABLE rewriting (
    "first" INTEGER NOT NULL,
    "last"  INTEGER NOT NULL
) STRICT;

DROP TRIGGER change_goes;
CREATE TRIGGER change_goes AFTER DELETE ON change
    WHEN OLD.frame_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM rewriting WHERE OLD."offset" BETWEEN "first" AND "last") BEGIN
    UPDATE frame SET changes = changes - 1 WHERE id = OLD.frame_id;
    DELETE FROM frame WHERE id = OLD.frame_id AND changes = 0;
END;

DROP TRIGGER erased_goes;
CREATE TRIGGER erased_goes AFTER DELETE ON change
    WHEN NOT EXISTS (SELECT 1 FROM rewriting WHERE OLD."offset" BETWEEN "first" AND "last") BEGIN
    DELETE FROM erased WHERE "offset" = OLD."offset";
END;
