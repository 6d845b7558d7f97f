-- What the marks of the clock (changes of type 6) say, so that a time is found without reading them: at `offset` recorded
-- time may go back, and the changes from `inexact_from` up to before `inexact_to` carry wrong times. A mark that lies
-- within such changes itself counts no longer.
CREATE TABLE clock_mark (
    "offset"     INTEGER PRIMARY KEY,
    inexact_from INTEGER NOT NULL,
    inexact_to   INTEGER NOT NULL,
    since        INTEGER NOT NULL     -- what is recorded at a time after this and before the mark may be wrong
) STRICT;
