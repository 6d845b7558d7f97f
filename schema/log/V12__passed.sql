-- From here on a mark of the clock (a change of type 6) may say no more than that time has passed, which an earlier program
-- would take for damage. No table changes.
SELECT 1;
