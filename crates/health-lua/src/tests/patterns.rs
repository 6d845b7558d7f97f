//! Our patterns against Lua's own.

use mlua::{Function, Lua, MultiValue, Value};
use proptest::prelude::*;
use serde_json::json;

use super::{judged, one, thing};
use crate::budget::Budget;
use crate::pattern::{self, Capture, PatternError};
use crate::{Judge, Patience};

/// What Lua's own `string.find` says, or that it refuses the pattern.
fn by_lua(find: &Function, text: &str, pattern: &str, from: usize) -> Option<Vec<String>> {
    let found: MultiValue = find.call((text, pattern, from + 1)).ok()?;
    let shown = |value: &Value| value.to_string().unwrap_or_default();
    Some(found.iter().filter(|value| !value.is_nil()).map(shown).collect())
}

/// The same by ours.
fn by_us(text: &str, pattern: &str, from: usize) -> Option<Vec<String>> {
    let budget = Budget::default();
    budget.begin(0, 0);
    let found = match pattern::find(text.as_bytes(), pattern.as_bytes(), from, true, &budget) {
        Ok(found) => found,
        Err(PatternError::Malformed(_)) => return None,
        Err(PatternError::Spent) => panic!("small patterns are cheap: {pattern} in {text}"),
    };
    let Some(found) = found else { return Some(Vec::new()) };
    let mut shown = vec![(found.span.start + 1).to_string(), found.span.end.to_string()];
    shown.extend(found.captures.iter().map(|capture| match capture {
        Capture::Text(range) => text[range.clone()].to_owned(),
        Capture::Position(at) => (at + 1).to_string(),
    }));
    Some(shown)
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "b", "1", " ", ".", "%a", "%d", "%W", "%s", "%%", "%.", "[ab]", "[^a]", "[a-b1]", "[]a]",
        "[^]]", "[%a-]", "[a-]", "(", ")", "()", "(a)", "(.-)", "%1", "%b()", "%bab", "%f[%w]", "%f[^a]",
        "*", "+", "-", "?", "^", "$", "[", "]", "%", "%z", "%f",
    ])
}

proptest! {
    #![proptest_config(strandline_testkit::cases(500))]

    #[test]
    fn patterns_find_what_lua_finds(
        text in "[ab1() ]{0,10}",
        pieces in prop::collection::vec(piece(), 0..7),
        from in 0_usize..4,
    ) {
        let lua = Lua::new();
        let find: Function = lua.load("return string.find").eval().unwrap();
        let (pattern, from) = (pieces.concat(), from.min(text.len()));
        prop_assume!(!pattern::is_plain(pattern.as_bytes()));
        let (ours, theirs) = (by_us(&text, &pattern, from), by_lua(&find, &text, &pattern, from));
        prop_assert_eq!(ours, theirs, "`{}` in `{}`", pattern, text);
    }

    #[test]
    fn texts_are_replaced_and_walked_as_lua_does_it(
        text in "[ab1() ]{0,10}",
        pieces in prop::collection::vec(piece(), 0..5),
        by in "(<%0>|%1|%2|x|%%|%)",
    ) {
        // Lua minds a bracket without its partner only where its capture is asked for.
        prop_assume!(!pieces.contains(&"("));
        const SCRIPT: &str = "local s = obj.status
            local ok, text, count = pcall(string.gsub, s.text, s.pattern, s.by)
            local parts = {ok and text or '', ok and count or ''}
            pcall(function() for a, b in s.text:gmatch(s.pattern) do parts[#parts + 1] = a .. '/' .. tostring(b) end end)
            return {status = 'Healthy', message = table.concat(parts, '|')}";
        let status = json!({"text": text, "pattern": pieces.concat(), "by": by});
        let lua = Lua::new();
        let own = lua.create_table().unwrap();
        for (name, value) in status.as_object().unwrap() {
            own.set(name.as_str(), value.as_str().unwrap()).unwrap();
        }
        let object = lua.create_table_from([("status", own)]).unwrap();
        lua.globals().set("obj", object).unwrap();
        let theirs: mlua::Table = lua.load(SCRIPT).eval().unwrap();
        let verdict = judged(&Judge::new(&one(SCRIPT), Patience::default()), &thing(&status));
        prop_assert_eq!(verdict.message, theirs.get::<String>("message").unwrap(), "{}", status);
    }

    #[test]
    fn any_bytes_are_searched_or_refused(text in prop::collection::vec(any::<u8>(), 0..30), pattern in prop::collection::vec(any::<u8>(), 0..20)) {
        let budget = Budget::default();
        budget.begin(0, 0);
        if let Ok(Some(found)) = pattern::find(&text, &pattern, 0, false, &budget) {
            prop_assert!(found.span.start <= found.span.end && found.span.end <= text.len());
        }
    }
}
