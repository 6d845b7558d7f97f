//! How rows are found that hold at a moment and stand in stretches of their owner.

/// SQL that holds for a row, by its alias, that holds at `:at`: `holds!("edge" e, declared_by = ":id")`. It stands in the
/// last of its owner's stretches that began by then, so that nothing of other times is read.
macro_rules! holds {
    ($table:literal $row:ident, $owner:ident = $of:literal) => {
        concat!(
            stringify!($row),
            ".stretch = (SELECT max(stretch) FROM ",
            $table,
            " WHERE ",
            stringify!($owner),
            " = ",
            $of,
            " AND stretch <= :at) AND ",
            stringify!($row),
            ".from_offset <= :at AND ",
            stringify!($row),
            ".to_offset > :at"
        )
    };
}
pub(super) use holds;
