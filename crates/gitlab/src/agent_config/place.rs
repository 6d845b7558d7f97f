//! Where in a file something is that is known by its place inside of a text.

use serde_saphyr::Location;

/// How far after its beginning a text is looked for: quotes, the mark of a block, indentation.
const SLACK: usize = 256;

/// Line and column, from 1, of a character of a text that is in a file at a location.
///
/// None where the file does not have the character's line of the text as it is read: with escapes, or folded.
pub(super) fn place(source: &str, location: Location, text: &str, column: usize) -> Option<(u64, u64)> {
    let start = offset(source, location)?;
    let at = text.char_indices().map(|(at, _)| at).nth(column.checked_sub(1)?).unwrap_or(text.len());
    let at = at.min(text.trim_end().len());
    let line_start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(line_start..)?.lines().next().unwrap_or_default();
    let mut end = source.len().min(start + 2 * text.len() + SLACK);
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    // Lines before it take at least as much room in the file.
    let from = start + line_start;
    let found = from + source.get(from..end)?.find(line)? + (at - line_start);
    let before = source.get(..found)?;
    let since = before.rsplit('\n').next().unwrap_or_default();
    Some((before.matches('\n').count() as u64 + 1, since.chars().count() as u64 + 1))
}

/// The byte at which a location is.
fn offset(source: &str, location: Location) -> Option<usize> {
    let line = usize::try_from(location.line()).ok()?.checked_sub(1)?;
    let column = usize::try_from(location.column()).ok()?.checked_sub(1)?;
    let start: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = source.get(start..)?;
    Some(start + rest.char_indices().map(|(at, _)| at).nth(column).unwrap_or(rest.len()))
}
