//! What the prelude cannot do in Lua: patterns that pay for their steps, and the calendar.

use std::rc::Rc;

use mlua::{Error, Function, Lua, LuaString, MultiValue, Value};

use super::budget::Budget;
use super::pattern::{self, Capture, Found, PatternError};
use super::time::{self, Parts};

/// What is wanted of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Where the text itself is, from 1.
    Plain,
    /// Where the match is, from 1, and what it caught.
    Find,
    /// What it caught.
    Match,
    /// Where it is, from 0, and what it caught; `^` means itself.
    Next,
    /// The same; `^` ties it to the beginning.
    Replace,
}

impl Mode {
    fn of(name: &[u8]) -> Mode {
        match name {
            b"plain" => Mode::Plain,
            b"find" => Mode::Find,
            b"match" => Mode::Match,
            b"replace" => Mode::Replace,
            _ => Mode::Next,
        }
    }
}

/// `find(text, pattern, from, mode)`: what is wrong with the pattern or nil, and then what was found or nil.
pub(super) fn find(lua: &Lua, budget: &Rc<Budget>) -> Result<Function, Error> {
    let budget = Rc::clone(budget);
    lua.create_function(move |lua, given: (LuaString, LuaString, usize, LuaString)| {
        let (text, pattern, from, mode) = given;
        let (text, pattern, mode) = (text.as_bytes(), pattern.as_bytes(), Mode::of(&mode.as_bytes()));
        let found = match mode {
            Mode::Plain => plain(&text, &pattern, from, &budget),
            Mode::Find if pattern::is_plain(&pattern) => plain(&text, &pattern, from, &budget),
            mode => pattern::find(&text, &pattern, from, mode != Mode::Next, &budget),
        };
        match found {
            Ok(Some(found)) => told(lua, &text, &found, mode),
            Ok(None) => Ok(MultiValue::new()),
            Err(PatternError::Malformed(problem)) => {
                Ok(MultiValue::from_iter([Value::String(lua.create_string(problem)?)]))
            }
            // Which limit it was is in the budget.
            Err(PatternError::Spent) => Err(Error::runtime("the budget is used up")),
        }
    })
}

fn plain(text: &[u8], wanted: &[u8], from: usize, budget: &Budget) -> Result<Option<Found>, PatternError> {
    let Some(rest) = text.get(from..) else { return Ok(None) };
    budget.spend((rest.len() + wanted.len()) as u64 / 8)?;
    let at = if wanted.is_empty() { Some(0) } else { position(rest, wanted, budget)? };
    Ok(at.map(|at| Found { span: from + at..from + at + wanted.len(), captures: Vec::new() }))
}

fn position(text: &[u8], wanted: &[u8], budget: &Budget) -> Result<Option<usize>, PatternError> {
    for (at, window) in text.windows(wanted.len()).enumerate() {
        if window.first() == wanted.first() {
            budget.spend(1 + wanted.len() as u64 / 8)?;
            if window == wanted {
                return Ok(Some(at));
            }
        }
    }
    Ok(None)
}

fn told(lua: &Lua, text: &[u8], found: &Found, mode: Mode) -> Result<MultiValue, Error> {
    let piece = |range: std::ops::Range<usize>| {
        lua.create_string(text.get(range).unwrap_or_default()).map(Value::String)
    };
    let place = |at: usize| Value::Integer(i64::try_from(at).unwrap_or(i64::MAX));
    let mut values = vec![Value::Nil];
    match mode {
        Mode::Plain | Mode::Find => values.extend([place(found.span.start + 1), place(found.span.end)]),
        Mode::Next | Mode::Replace => values.extend([place(found.span.start), place(found.span.end)]),
        Mode::Match => {}
    }
    for capture in &found.captures {
        values.push(match capture {
            Capture::Text(range) => piece(range.clone())?,
            Capture::Position(at) => place(at + 1),
        });
    }
    // Without captures the match itself is what was caught, except where its place was asked for.
    if found.captures.is_empty() && !matches!(mode, Mode::Plain | Mode::Find) {
        values.push(piece(found.span.clone())?);
    }
    Ok(MultiValue::from_iter(values))
}

/// `time(year, month, day, hour, min, sec)`: seconds since 1970, or nil.
pub(super) fn time(lua: &Lua) -> Result<Function, Error> {
    type Given = (Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);
    lua.create_function(|_, (year, month, day, hour, min, sec): Given| {
        let whole = |part: Option<f64>| part.map(|part| part as i64);
        let parts = Parts {
            year: whole(year),
            month: whole(month),
            day: whole(day),
            hour: whole(hour),
            min: whole(min),
            sec: whole(sec),
        };
        Ok(time::seconds(parts))
    })
}

/// `date(pattern, seconds)`: the moment as text, or nil.
pub(super) fn date(lua: &Lua) -> Result<Function, Error> {
    lua.create_function(|_, (pattern, seconds): (LuaString, f64)| {
        Ok(time::shown(&pattern.to_string_lossy(), seconds as i64))
    })
}
