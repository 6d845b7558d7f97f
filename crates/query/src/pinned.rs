//! The time of a list's first page, which the tokens of its later pages carry.

use strandline_model::{Offset, Timestamp};

/// A time that was asked for, be it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskedTime {
    pub(super) time: Timestamp,
    pub(super) is_now: bool,
}

/// The moment of a first page, as its token tells it to the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pinned {
    pub(super) offset: Offset,
    /// The time asked for; none where an offset was.
    pub(super) by_time: Option<AskedTime>,
}

impl Pinned {
    /// As text: the offset and, where a time was asked for, that time behind `n` for now or `t`.
    pub(super) fn to_token(self) -> String {
        let offset = format!("{:x}", self.offset.get());
        match self.by_time {
            Some(AskedTime { time, is_now }) => {
                format!("{offset}-{}{:x}", if is_now { 'n' } else { 't' }, time.as_micros())
            }
            None => offset,
        }
    }

    pub(super) fn from_token(text: &str) -> Option<Self> {
        let (offset, time) = text.split_once('-').map_or((text, None), |(offset, time)| (offset, Some(time)));
        let offset = u64::from_str_radix(offset, 16).ok().filter(|offset| i64::try_from(*offset).is_ok())?;
        let by_time = match time {
            None => None,
            Some(time) => {
                let (is_now, micros) = match time.strip_prefix('n') {
                    Some(micros) => (true, micros),
                    None => (false, time.strip_prefix('t')?),
                };
                // Times before 1970 are written in two's complement.
                let micros = u64::from_str_radix(micros, 16).ok()?.cast_signed();
                Some(AskedTime { time: Timestamp::from_micros(micros), is_now })
            }
        };
        Some(Pinned { offset: Offset::new(offset), by_time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_carries_the_time_that_the_first_page_was_asked_for() {
        for by_time in [
            None,
            Some(AskedTime { time: Timestamp::from_micros(1_795_176_000_000_000), is_now: true }),
            Some(AskedTime { time: Timestamp::from_micros(-5), is_now: false }),
            Some(AskedTime { time: Timestamp::from_micros(i64::MIN), is_now: false }),
        ] {
            let pinned = Pinned { offset: Offset::new(77), by_time };
            assert_eq!(Pinned::from_token(&pinned.to_token()), Some(pinned));
        }
    }
}
