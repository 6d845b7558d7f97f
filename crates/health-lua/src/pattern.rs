//! Lua's patterns, with every step paid for.
//!
//! Lua's own matcher is written in C, where no limit of ours reaches: a pattern such as `.-.-.-x` against a
//! long text keeps it busy for years. This one means the same and stops when the budget does.

use std::ops::Range;

use super::budget::{Budget, Spent};

/// How deep a match may go; Lua's own bound.
const DEPTH_MAX: usize = 200;
/// How many captures a pattern may have; Lua's own bound.
const CAPTURES_MAX: usize = 32;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternError {
    /// The pattern makes no sense, in Lua's words.
    Malformed(&'static str),
    /// The script's budget has been used up.
    Spent,
}

impl From<Spent> for PatternError {
    fn from(_: Spent) -> Self {
        PatternError::Spent
    }
}

/// What a capture caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    /// These bytes of the subject.
    Text(Range<usize>),
    /// A place in the subject, from 0.
    Position(usize),
}

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// What matched.
    pub(super) span: Range<usize>,
    /// What was caught, in the order of the opening brackets.
    pub(super) captures: Vec<Capture>,
}

/// Whether `string.find` takes a pattern for a text; Lua then does not mind brackets without partners.
pub(super) fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}

/// Finds the first match at or after a place; `anchors` says whether a leading `^` ties it to that place.
pub(super) fn find(
    subject: &[u8],
    pattern: &[u8],
    from: usize,
    anchors: bool,
    budget: &Budget,
) -> Result<Option<Found>, PatternError> {
    let rest = pattern.strip_prefix(b"^").filter(|_| anchors);
    let mut matcher =
        Matcher { subject, pattern: rest.unwrap_or(pattern), captures: Vec::new(), depth: 0, budget };
    let last = if rest.is_some() { from } else { subject.len() };
    for start in from..=last.min(subject.len()) {
        matcher.captures.clear();
        if let Some(end) = matcher.matched(start, 0)? {
            let captures = matcher.captures.iter().map(Catch::closed).collect::<Result<_, _>>()?;
            return Ok(Some(Found { span: start..end, captures }));
        }
    }
    Ok(None)
}

/// A capture on the way.
#[derive(Clone, Copy, Debug)]
struct Catch {
    start: usize,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Position,
    At(usize),
}

impl Catch {
    fn closed(&self) -> Result<Capture, PatternError> {
        match self.end {
            End::Open => Err(PatternError::Malformed("unfinished capture")),
            End::Position => Ok(Capture::Position(self.start)),
            End::At(end) => Ok(Capture::Text(self.start..end)),
        }
    }
}

/// Where to go on, or the end of it.
enum Step {
    Go(usize, usize),
    Done(Option<usize>),
}

struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Catch>,
    depth: usize,
    budget: &'a Budget,
}

type Matched = Result<Option<usize>, PatternError>;

impl Matcher<'_> {
    /// Matches the pattern from `p` on against the subject from `s` on; where the match ends.
    fn matched(&mut self, s: usize, p: usize) -> Matched {
        if self.depth >= DEPTH_MAX {
            return Err(PatternError::Malformed("pattern too complex"));
        }
        self.depth += 1;
        let end = self.walk(s, p);
        self.depth -= 1;
        end
    }

    fn walk(&mut self, mut s: usize, mut p: usize) -> Matched {
        loop {
            self.budget.spend(1)?;
            let step = match (self.pattern.get(p), self.pattern.get(p + 1)) {
                (None, _) => Step::Done(Some(s)),
                (Some(b'('), Some(b')')) => Step::Done(self.open(s, p + 2, End::Position)?),
                (Some(b'('), _) => Step::Done(self.open(s, p + 1, End::Open)?),
                (Some(b')'), _) => Step::Done(self.close(s, p + 1)?),
                (Some(b'$'), None) => Step::Done((s == self.subject.len()).then_some(s)),
                (Some(b'%'), Some(b'b')) => self.balanced(s, p + 2)?.into_step(p + 4),
                (Some(b'%'), Some(b'f')) => self.frontier(s, p + 2)?,
                (Some(b'%'), Some(digit)) if digit.is_ascii_digit() => {
                    self.again(s, *digit)?.into_step(p + 2)
                }
                _ => self.item(s, p)?,
            };
            match step {
                Step::Go(next_s, next_p) => (s, p) = (next_s, next_p),
                Step::Done(end) => return Ok(end),
            }
        }
    }

    fn open(&mut self, s: usize, p: usize, end: End) -> Matched {
        if self.captures.len() >= CAPTURES_MAX {
            return Err(PatternError::Malformed("too many captures"));
        }
        self.captures.push(Catch { start: s, end });
        let level = self.captures.len();
        let found = self.matched(s, p)?;
        if found.is_none() {
            self.captures.truncate(level - 1);
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Matched {
        let open = self.captures.iter().rposition(|catch| catch.end == End::Open);
        let level = open.ok_or(PatternError::Malformed("invalid pattern capture"))?;
        self.end_of(level, End::At(s));
        let found = self.matched(s, p)?;
        if found.is_none() {
            self.end_of(level, End::Open);
        }
        Ok(found)
    }

    fn end_of(&mut self, level: usize, end: End) {
        if let Some(catch) = self.captures.get_mut(level) {
            catch.end = end;
        }
    }

    /// `%bxy`: from an x to the y that closes it.
    fn balanced(&mut self, s: usize, p: usize) -> Matched {
        let (Some(open), Some(close)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return Err(PatternError::Malformed("malformed pattern (missing arguments to '%b')"));
        };
        if self.subject.get(s) != Some(open) {
            return Ok(None);
        }
        let mut depth = 0_usize;
        for (at, byte) in self.subject.iter().enumerate().skip(s) {
            self.budget.spend(1)?;
            if byte == close && depth == 1 {
                return Ok(Some(at + 1));
            }
            if byte == close {
                depth = depth.saturating_sub(1);
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: between a byte outside of the set and one within.
    fn frontier(&mut self, s: usize, p: usize) -> Result<Step, PatternError> {
        if self.pattern.get(p) != Some(&b'[') {
            return Err(PatternError::Malformed("missing '[' after '%f' in pattern"));
        }
        let end = self.class_end(p)?;
        let before = s.checked_sub(1).and_then(|at| self.subject.get(at)).copied().unwrap_or(0);
        let here = self.subject.get(s).copied().unwrap_or(0);
        self.budget.spend((end - p) as u64)?;
        let edge = !in_set(self.slice(p..end), before) && in_set(self.slice(p..end), here);
        Ok(if edge { Step::Go(s, end) } else { Step::Done(None) })
    }

    /// `%1`: what the first capture caught, once more.
    fn again(&mut self, s: usize, digit: u8) -> Matched {
        let level = usize::from(digit).checked_sub(usize::from(b'1'));
        let catch = level.and_then(|level| self.captures.get(level));
        let (start, end) = match catch {
            Some(Catch { start, end: End::At(end) }) => (start, end),
            // A place is no text that could be there once more.
            Some(Catch { end: End::Position, .. }) => return Ok(None),
            _ => return Err(PatternError::Malformed("invalid capture index")),
        };
        let caught = self.subject.get(*start..*end).unwrap_or_default();
        self.budget.spend(caught.len() as u64)?;
        let rest = self.subject.get(s..).unwrap_or_default();
        Ok(rest.starts_with(caught).then_some(s + caught.len()))
    }

    /// One byte or set of bytes, with what says how often.
    fn item(&mut self, s: usize, p: usize) -> Result<Step, PatternError> {
        let end = self.class_end(p)?;
        Ok(match self.pattern.get(end) {
            Some(b'?') => {
                if self.single(s, p..end)?
                    && let Some(found) = self.matched(s + 1, end + 1)?
                {
                    return Ok(Step::Done(Some(found)));
                }
                Step::Go(s, end + 1)
            }
            Some(b'+') if self.single(s, p..end)? => Step::Done(self.most(s + 1, p..end)?),
            Some(b'+') => Step::Done(None),
            Some(b'*') => Step::Done(self.most(s, p..end)?),
            Some(b'-') => Step::Done(self.fewest(s, p..end)?),
            _ if self.single(s, p..end)? => Step::Go(s + 1, end),
            _ => Step::Done(None),
        })
    }

    fn most(&mut self, s: usize, item: Range<usize>) -> Matched {
        let mut count = 0;
        while self.single(s + count, item.clone())? {
            count += 1;
        }
        loop {
            if let Some(end) = self.matched(s + count, item.end + 1)? {
                return Ok(Some(end));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    fn fewest(&mut self, mut s: usize, item: Range<usize>) -> Matched {
        loop {
            if let Some(end) = self.matched(s, item.end + 1)? {
                return Ok(Some(end));
            }
            if !self.single(s, item.clone())? {
                return Ok(None);
            }
            s += 1;
        }
    }

    /// Whether the byte at `s` is one that the item means.
    fn single(&mut self, s: usize, item: Range<usize>) -> Result<bool, PatternError> {
        self.budget.spend(item.len() as u64)?;
        let Some(&byte) = self.subject.get(s) else { return Ok(false) };
        Ok(match self.slice(item) {
            [b'.'] => true,
            [b'%', class] => in_class(*class, byte),
            set @ [b'[', ..] => in_set(set, byte),
            item => item.first() == Some(&byte),
        })
    }

    /// Where the item that begins at `p` ends, without what says how often.
    fn class_end(&self, p: usize) -> Result<usize, PatternError> {
        match (self.pattern.get(p), self.pattern.get(p + 1)) {
            (Some(b'%'), None) => Err(PatternError::Malformed("malformed pattern (ends with '%')")),
            (Some(b'%'), Some(_)) => Ok(p + 2),
            (Some(b'['), _) => {
                let mut at = p + 1 + usize::from(self.pattern.get(p + 1) == Some(&b'^'));
                loop {
                    at += match self.pattern.get(at) {
                        Some(b'%') => 2,
                        Some(_) => 1,
                        None => return Err(PatternError::Malformed("malformed pattern (missing ']')")),
                    };
                    if self.pattern.get(at) == Some(&b']') {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    fn slice(&self, range: Range<usize>) -> &[u8] {
        self.pattern.get(range).unwrap_or_default()
    }
}

/// Turns the end of a piece that has to match into what comes next.
trait IntoStep {
    fn into_step(self, p: usize) -> Step;
}

impl IntoStep for Option<usize> {
    fn into_step(self, p: usize) -> Step {
        self.map_or(Step::Done(None), |s| Step::Go(s, p))
    }
}

/// Whether a byte is in a set, written with its brackets.
fn in_set(set: &[u8], byte: u8) -> bool {
    let inner = set.strip_prefix(b"[").and_then(|set| set.strip_suffix(b"]")).unwrap_or_default();
    let (mut rest, wanted) = inner.strip_prefix(b"^").map_or((inner, true), |rest| (rest, false));
    loop {
        let found;
        (found, rest) = match rest {
            [] => return !wanted,
            [b'%', class, rest @ ..] => (in_class(*class, byte), rest),
            [from, b'-', to, rest @ ..] => ((*from..=*to).contains(&byte), rest),
            [one, rest @ ..] => (*one == byte, rest),
        };
        if found {
            return wanted;
        }
    }
}

/// Whether a byte is of a class such as `%d`; a capital means all others, and what is no letter means itself.
fn in_class(class: u8, byte: u8) -> bool {
    let found = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    found != class.is_ascii_uppercase()
}
