//! Scripts that mean harm. After each, the next object is judged as if nothing had been.

use serde_json::{Value, json};

use super::{judged, line, shown, thing, value};
use crate::{Judge, Scripts};
use strandline_health::Patience;
use strandline_model::Health;

/// A judge with one script that means harm and one that does not.
fn judge(script: &str) -> Judge {
    let sound = "return {status = string.format('%s', 'Healthy'), message = ('fine'):rep(1) .. table.concat({obj.kind})}";
    let files = [("example.org/Thing/health.lua", script), ("example.org/Sound/health.lua", sound)];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    Judge::new(&Scripts::from_folder(files).unwrap(), Patience::default())
}

/// What a script gets, after which the same judge must judge a sound object soundly, and the first one again.
fn survived(script: &str, object: &Value) -> String {
    let judge = judge(script);
    let first = judged(&judge, object);
    let sound = json!({"apiVersion": "example.org/v1", "kind": "Sound", "metadata": {"name": "it"}});
    assert_eq!(shown(judged(&judge, &sound)), "lua/example.org/Sound: Healthy [] fineSound", "{script}");
    assert_eq!(judged(&judge, object), first, "{script}");
    shown(first)
}

fn reason(script: &str) -> String {
    let verdict = survived(script, &thing(&json!({"text": "a".repeat(50_000)})));
    verdict.split(['[', ']']).nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_script_without_end_hits_its_budget() {
    for script in [
        "while true do end",
        "repeat until false",
        "::again:: goto again",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "local function f() return pcall(f) end while true do f() end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end",
        "for _ in setmetatable({}, {__call = function() while true do end end}) do end",
        "return 'x' .. setmetatable({}, {__concat = function() while true do end end})",
        "for _, v in ipairs(setmetatable({}, {__ipairs = function() while true do end end})) do end",
        "for _, v in pairs(setmetatable({}, {__pairs = function() while true do end end})) do end while true do end",
        "return tostring(setmetatable({}, {__tostring = function() while true do end end}))",
        "table.sort({3, 2, 1, 4}, function() while true do end end)",
        "('x'):gsub('.', function() while true do end end)",
        "for _ in function() return 1 end do end",
        "load('while true do end')()",
        "setmetatable(_G, {__index = function() while true do end end}); return missing",
        "for i = 1, 1e9 do print(i) end",
        "local t = {} for i = 1, 1e9 do t[i % 10] = tostring(i) end",
        "while true do pcall(string.rep, 'x', 1e9) end",
        "while true do load(('x=1 '):rep(10000)) end",
    ] {
        assert_eq!(reason(script), "ScriptBudget", "{script}");
    }
}

#[test]
fn one_call_that_would_take_years_hits_the_budget() {
    for script in [
        "return (obj.status.text):find(('.-'):rep(20) .. 'b')",
        "return (obj.status.text):find(('a*'):rep(30) .. 'b')",
        "return (obj.status.text):match('(.-)(.-)(.-)x')",
        "return (obj.status.text):gsub('.-b', '')",
        "for x in (obj.status.text):gmatch('.-b') do end",
        "return (obj.status.text):find('%b' .. 'ax' .. 'b')",
        "return ('').rep('', 1e18, 'x')",
        "return ('x'):rep(1e18)",
        "return ('x'):rep(-1e18) .. ('x'):rep(1e10)",
        "return table.concat({}, '', 1, 2 ^ 60)",
        "return table.unpack({}, 1, 1e8)",
        "return table.insert({}, -2 ^ 60, 1)",
        "local a = obj.status.text:rep(10) local b = obj.status.text:rep(10) while true do if a < b then return end end",
        "local d = ('9'):rep(400000) local x = 0 while true do x = x + d end",
        "local t = {} for i = 1, 5000 do t[i] = i end while true do table.sort(t) end",
        "local t = {} for i = 1, 5000 do t[i] = i end while true do table.concat(t) end",
    ] {
        let reason = reason(script);
        assert!(["ScriptBudget", "ScriptFailed"].contains(&reason.as_str()), "{script}: {reason}");
    }
    assert_eq!(value("#('').rep('', 1e18)"), "0", "nothing, however often, is nothing");
    assert_eq!(reason("return table.sort(setmetatable({}, {__len = function() return 2 ^ 60 end}))"), "");
    assert_eq!(
        reason("return table.concat(setmetatable({}, {__len = function() return 2 ^ 60 end}))"),
        "ScriptInvalid"
    );
}

#[test]
fn a_script_that_takes_all_memory_hits_its_budget() {
    for script in [
        "local t = {} while true do t[#t + 1] = ('x'):rep(1000) end",
        "local s = 'x' while true do s = s .. s end",
        "local s = 'x' while true do pcall(function() s = s .. s end) end",
        "while true do local s = ('x'):rep(1e6) end",
        "while true do pcall(function() local s = ('x'):rep(1e6) end) end",
        "local s = ('x'):rep(1e6) while true do local t = s .. s end",
        "return ('x'):rep(7e6):rep(2)",
        "local t = {} for i = 1, 1e7 do t[i] = {} end",
        "return {status = 'Healthy', message = ('%s'):rep(1000):format(unpack((function() local t = {} for i = 1, 1000 do t[i] = ('x'):rep(20000) end return t end)()))}",
        "return load('return {' .. ('{},'):rep(300000) .. '}')",
    ] {
        assert_eq!(reason(script), "ScriptBudget", "{script}");
    }
}

#[test]
fn recursion_ends() {
    for (script, reasons) in [
        ("local function f() return 1 + f() end return f()", &["ScriptFailed", "ScriptBudget"][..]),
        ("local function f() return f() end return f()", &["ScriptBudget"]),
        ("local function f() pcall(f) end f()", &["", "ScriptFailed", "ScriptBudget"]),
        (
            "local function f(x) return (('x'):gsub('x', f)) end return f('x')",
            &["ScriptFailed", "ScriptBudget"],
        ),
        ("local function f() table.sort({2, 1}, f) end f()", &["ScriptFailed", "ScriptBudget"]),
        (
            "local t = {} t.__index = function(t, k) return t[k] end setmetatable(t, t) return t.x",
            &["ScriptFailed", "ScriptBudget"],
        ),
        ("local t = {} t.__index = t setmetatable(t, t) return t.x", &["ScriptFailed"]),
        (
            "local t = setmetatable({}, {__tostring = function(t) return tostring(t) end}) return tostring(t)",
            &["ScriptFailed", "ScriptBudget"],
        ),
        (
            "local t = setmetatable({}, {__tostring = function(t) return ('%s'):format(t) end}) return tostring(t)",
            &["ScriptFailed", "ScriptBudget"],
        ),
        ("return load('return ' .. ('('):rep(1000) .. ('x'):rep(1) .. (')'):rep(1000))", &["ScriptInvalid"]),
        ("local t = {} t.t = t t.status = t return t", &["ScriptInvalid"]),
        ("local t = {status = 'Healthy'} t.self = t return t", &[""]),
    ] {
        let reason = reason(script);
        assert!(reasons.contains(&reason.as_str()), "{script}: {reason}");
    }
}

#[test]
fn what_scripts_may_not_have_is_not_there() {
    for name in [
        "io",
        "debug",
        "package",
        "coroutine",
        "utf8",
        "dofile",
        "loadfile",
        "collectgarbage",
        "string.dump",
        "string.pack",
        "os.execute",
        "os.exit",
        "os.getenv",
        "os.remove",
        "os.clock",
        "os.tmpname",
        "math.random",
        "math.randomseed",
        "table.move",
        "rawpairs",
        "newproxy",
        "setfenv",
        "warn",
    ] {
        assert_eq!(value(name), "nil", "{name}");
    }
    for expression in [
        "pcall(require, 'io')",
        "pcall(require, 'package')",
        "load('\\27Lua')",
        "load(function() return 'return 1' end)",
        "pcall(setmetatable, {}, {__gc = function() end})",
        "pcall(setmetatable, {}, {__mode = 'k'})",
        "pcall(setmetatable, 'x', {})",
        "getmetatable('')",
    ] {
        assert!(
            ["false", "nil"].contains(&value(expression).as_str()),
            "{expression}: {}",
            value(expression)
        );
    }
    let mut binary = b"\x1bLua\x54".to_vec();
    binary.extend([0; 40]);
    let files = [("a/B/health.lua".to_owned(), String::from_utf8(binary).unwrap())];
    assert!(Scripts::from_folder(files).is_err(), "bytecode is no script");
}

#[test]
fn a_script_that_tampers_hurts_only_itself() {
    for script in [
        "string.format = nil; string.rep = function() return 'evil' end; table.concat = nil; return {status = 'Degraded'}",
        "for k in pairs(_G) do _G[k] = nil end",
        "setmetatable(_G, {__index = function() return 'evil' end, __newindex = error, __metatable = 'locked'})",
        "local m = getmetatable('') if m then m.__index = {} end",
        "('').format = 1",
        "rawset(string, 'format', error) rawset(_G, 'table', {}) obj = nil",
        "type = nil tostring = nil pcall = nil error = nil",
        "leaked = (leaked or 0) + 1 if leaked > 1 then error('seen') end",
        "obj.kind = {} setmetatable(obj, {__index = error, __metatable = 1}) return obj",
        "os.time = nil math.floor = nil require('string').rep = nil",
    ] {
        survived(script, &thing(&Value::Null));
    }
    let counted = "seen = (seen or 0) + 1; return {status = 'Healthy', message = tostring(seen)}";
    assert_eq!(
        survived(counted, &thing(&Value::Null)),
        "lua/example.org/Thing: Healthy [] 1",
        "nothing is kept"
    );
}

#[test]
fn anything_may_be_raised() {
    for script in [
        "error()",
        "error(nil)",
        "error({})",
        "error(setmetatable({}, {__tostring = error}))",
        "error(print)",
        "error(1.5)",
        "error(true)",
        "error(('x'):rep(1e6))",
        "error('\\255\\0')",
        "assert(false)",
        "assert(nil, {})",
    ] {
        assert_eq!(reason(script), "ScriptFailed", "{script}");
    }
    let verdict = line("error(('é'):rep(1e5), 0)", &thing(&Value::Null));
    assert!(verdict.len() < 5000, "a message has an end: {}", verdict.len());
    let message =
        judged(&judge("return {status = 'Healthy', message = ('é'):rep(1e5)}"), &thing(&Value::Null)).message;
    assert!(message.len() < 5000 && message.ends_with('…'), "{}", message.len());
}

#[test]
fn objects_too_large_for_scripts_are_told() {
    let sound = "return {status = 'Healthy', message = tostring(#obj.status)}";
    let many = |count: usize| thing(&json!(vec![json!({}); count]));
    assert!(survived(sound, &many(10_000)).ends_with("Healthy [] 10000"));
    assert!(survived(sound, &many(1_300_000)).contains("[ScriptBudget]"), "too many tables");
    let long = thing(&json!(["x".repeat(5 << 20)]));
    assert!(survived(sound, &long).contains("the object is too large"), "too long a text");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = thing(&Value::Null).to_string().replace("null", &deep);
    let object = strandline_object::Object::parse(&text).unwrap();
    let verdict = judge("return {status = 'Healthy', message = tostring(obj.status)}").judge(&object);
    assert_eq!(
        (verdict.health, verdict.message.as_str()),
        (Some(Health::Healthy), "nil"),
        "too deep to be read"
    );
}

#[test]
fn a_thousand_scripts_judge_a_thousand_kinds() {
    let kinds = 0..1000;
    let script = |kind| format!("local n = {kind} return {{status = 'Healthy', message = obj.kind .. n}}");
    let files = kinds.clone().map(|kind| (format!("g{}.org/K{kind}/health.lua", kind % 7), script(kind)));
    let scripts = Scripts::from_folder(files).unwrap();
    assert_eq!(scripts.len(), 1000);
    let judge = Judge::new(&scripts, Patience::default());
    for kind in kinds.clone().chain(kinds.rev()) {
        let object = json!({"apiVersion": format!("g{}.org/v1", kind % 7), "kind": format!("K{kind}"), "metadata": {}});
        assert_eq!(judged(&judge, &object).message, format!("K{kind}{kind}"));
    }
}
