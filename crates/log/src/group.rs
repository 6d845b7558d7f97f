//! A keyframe with what is stored against it: open while more may come, and then closed.

use rusqlite::params;

use super::bodies::Packed;
use super::error::LogError;
use super::transaction::Write;
use strandline_model::Offset;

/// The newest keyframe of a subject, and the deltas against it so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenGroup {
    /// None before the first state.
    pub(super) keyframe: Option<Offset>,
    /// How many deltas there are.
    pub(super) deltas: i64,
    /// Where they are; fewer than there are where some were written before this was kept.
    pub(super) deltas_at: Vec<u8>,
}

impl OpenGroup {
    fn begun(keyframe: Offset) -> Self {
        OpenGroup { keyframe: Some(keyframe), ..OpenGroup::default() }
    }

    fn with(mut self, keyframe: Offset, delta: Offset) -> Self {
        assert!(keyframe < delta, "a delta comes after its keyframe");
        put(&mut self.deltas_at, delta.get() - keyframe.get());
        self.deltas += 1;
        self
    }
}

/// The offsets of a group's deltas; none where the bytes are no such list.
pub(super) fn deltas_of(keyframe: Offset, bytes: &[u8]) -> Option<Vec<Offset>> {
    let mut rest = bytes;
    let mut deltas = Vec::new();
    while !rest.is_empty() {
        deltas.push(Offset::new(keyframe.get().checked_add(take(&mut rest)?)?));
    }
    Some(deltas)
}

/// LEB128: seven bits a byte, the lowest first, with the top bit while more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

impl Write<'_> {
    /// Packs the next state of a subject, which is about to be written, and returns the group that is open then.
    pub(super) fn pack_state(
        &mut self,
        body: &str,
        open: OpenGroup,
    ) -> Result<(Packed, OpenGroup), LogError> {
        let next = self.state.head.next();
        let packed = self.state.bodies.state(self.connection, next, body, open.keyframe, open.deltas)?;
        let group = match packed.base {
            Some(keyframe) => {
                debug_assert!(self.is_keyframe(keyframe)?, "there is no keyframe at offset {keyframe}");
                open.with(keyframe, next)
            }
            None => {
                self.close(&open)?;
                OpenGroup::begun(next)
            }
        };
        Ok((packed, group))
    }

    /// Whether a delta can be stored against the change at an offset.
    fn is_keyframe(&self, offset: Offset) -> Result<bool, LogError> {
        let sql = r#"SELECT EXISTS
            (SELECT 1 FROM change WHERE "offset" = ?1 AND base IS NULL AND body IS NOT NULL)"#;
        Ok(self.connection.prepare_cached(sql)?.query_row([offset], |row| row.get(0))?)
    }

    /// Nothing more will be stored against a keyframe: what there is waits to be packed.
    pub(super) fn close(&mut self, group: &OpenGroup) -> Result<(), LogError> {
        let Some(keyframe) = group.keyframe else { return Ok(()) };
        let known = deltas_of(keyframe, &group.deltas_at).map_or(0, |deltas| deltas.len());
        if usize::try_from(group.deltas) != Ok(known) {
            return Ok(());
        }
        let sql = "INSERT OR REPLACE INTO closed_group (keyframe, deltas) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![keyframe, group.deltas_at])?;
        self.state.closed += 1;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn deltas_are_read_back_as_they_were_put(keyframe in 0..u64::MAX / 4, behind in prop::collection::vec(1..u64::MAX / 2, 0..20)) {
            let keyframe = Offset::new(keyframe);
            let mut group = OpenGroup::begun(keyframe);
            let deltas: Vec<Offset> = behind.iter().map(|n| Offset::new(keyframe.get() + n)).collect();
            for delta in &deltas {
                group = group.with(keyframe, *delta);
            }
            prop_assert_eq!(group.deltas as usize, deltas.len());
            prop_assert_eq!(deltas_of(keyframe, &group.deltas_at).unwrap(), deltas);
        }

        #[test]
        fn any_bytes_are_a_list_or_none(bytes in any::<Vec<u8>>(), keyframe in any::<u64>()) {
            let _ = deltas_of(Offset::new(keyframe), &bytes);
        }
    }
}
