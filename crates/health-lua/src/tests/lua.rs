//! What scripts find in their machine, and what becomes of what they return.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{judged, line, one, thing, value};
use crate::{Judge, Scripts};
use strandline_health::{Patience, assess};
use strandline_object::Object;

#[test]
fn what_a_script_says_is_the_verdict() {
    let status = json!({"phase": "Broken", "message": "no disk"});
    let said = |script: &str| line(script, &thing(&status));
    for (script, verdict) in [
        ("return {status = 'Degraded', message = obj.status.message}", "Degraded [] no disk"),
        ("return {status = 'Healthy'}", "Healthy []"),
        ("return 1, {status = 'Missing'}", "Missing []"),
        ("hs = {}; hs.status = 'Suspended'; return hs", "Suspended []"),
        ("return nil", "none []"),
        ("local quiet = 1", "none []"),
        ("return {}", "none []"),
    ] {
        assert_eq!(said(script), format!("lua/example.org/Thing: {verdict}"), "{script}");
    }
}

#[test]
fn what_is_no_answer_is_told() {
    let at = "example.org/Thing/health.lua";
    for (script, verdict) in [
        ("return {status = 'Fine', message = 'so so'}", "[ScriptInvalid] AT: `Fine` is no health. so so"),
        ("return {status = 'healthy'}", "[ScriptInvalid] AT: `healthy` is no health."),
        ("return {message = 'x'}", "[ScriptInvalid] AT: returned no status"),
        ("return {status = 7}", "[ScriptInvalid] AT: returned a number as status, not a string"),
        (
            "return {status = 'Healthy', message = {}}",
            "[ScriptInvalid] AT: returned a table as message, not a string",
        ),
        ("return 'Healthy'", "[ScriptInvalid] AT: returned a string, not a table"),
        ("\nreturn obj.spec.x", "[ScriptFailed] AT:2: attempt to index field 'spec' (a nil value)"),
        ("\n\nerror('no')", "[ScriptFailed] AT:3: no"),
        ("error('no', 0)", "[ScriptFailed] AT: no"),
        ("error({code = 1})", "[ScriptFailed] AT: an error that is a table"),
        ("error(nil)", "[ScriptFailed] AT: an error that is a nil"),
        (
            "for _ in pairs(nil) do end",
            "[ScriptFailed] AT:1: bad argument #1 to 'pairs' (table expected, got nil)",
        ),
        ("\nlocal x = string.find('a', '[')", "[ScriptFailed] AT:2: malformed pattern (missing ']')"),
        ("\nlocal x = ('a'):gsub('(', '')", "[ScriptFailed] AT:2: unfinished capture"),
    ] {
        let expected = format!("lua/example.org/Thing: Unknown {}", verdict.replace("AT", at));
        assert_eq!(line(script, &thing(&Value::Null)), expected, "{script}");
    }
}

#[test]
fn objects_are_tables_as_in_argo_cd() {
    let status = json!({"n": 3, "whole": 4.0, "part": 0.5, "big": 9_007_199_254_740_993_u64, "huge": u64::MAX,
        "none": null, "list": ["a", null, "b"], "empty": {}, "yes": true, "text": "é\n"});
    let said = |expression: &str| {
        let script =
            format!("local s = obj.status; return {{status = 'Healthy', message = tostring({expression})}}");
        judged(&Judge::new(&one(&script), Patience::default()), &thing(&status)).message
    };
    for (expression, text) in [
        ("s.n .. '/' .. s.whole", "3/4"),
        ("s.part * 2", "1"),
        ("s.big", "9007199254740992"),
        ("s.huge", "1.844674407371e+19"),
        ("s.none == nil", "true"),
        ("#s.list .. s.list[2]", "2b"),
        ("next(s.empty) == nil", "true"),
        ("s.yes and s.text == 'é\\n'", "true"),
        ("obj.metadata.name .. obj.kind .. obj.apiVersion", "itThingexample.org/v1"),
        ("type(actionParams)", "table"),
    ] {
        assert_eq!(said(expression), text, "{expression}");
    }
}

#[test]
fn scripts_for_lua_5_1_run() {
    for (expression, text) in [
        ("table.getn({1, 2}) + table.maxn({[7] = 1})", "9"),
        ("select('#', unpack({1, 2, 3}))", "3"),
        ("loadstring('return 1 + 1')()", "2"),
        ("load('x = 5') == nil or x", "nil"),
        ("math.pow(2, 10) .. math.mod(7, 4) .. math.log10(1000)", "102433"),
        ("6 / 2", "3"),
        ("1 / 2", "0.5"),
        ("100 / 4 .. '%'", "25%"),
        ("2 ^ 53", "9007199254740992"),
        ("tonumber('3.0') .. tonumber('ff', 16)", "3255"),
        (
            "string.format('%d of %s, %5.1f%% %s %x %i', 3.0, 6 / 2, 50, nil, 255, -2.5)",
            "3 of 3,  50.0% nil ff -2",
        ),
        ("table.concat({1, 6 / 2, 'x'}, ',')", "1,3,x"),
        ("(function() for w in string.gfind('a b', '%a') do return w end end)()", "a"),
        (
            "(function() local n = 0; for i = 1, 3 do if i == 2 then goto next end n = n + i; ::next:: end return n end)()",
            "4",
        ),
        ("require('os').time == os.time", "true"),
        ("'10' + 1", "11"),
        ("select(2, pcall(error, 'x'))", "x"),
        ("select(2, xpcall(function() error('x', 0) end, function(e) return e .. '!' end))", "x!"),
    ] {
        assert_eq!(value(expression), text, "{expression}");
    }
}

#[test]
fn tables_are_worked_on_as_ever() {
    let with = |body: &str| value(&format!("(function() local t = {{3, 1, 2}}; {body} end)()"));
    for (body, text) in [
        ("table.sort(t); return table.concat(t)", "123"),
        ("table.sort(t, function(a, b) return a > b end); return table.concat(t)", "321"),
        ("table.insert(t, 4); table.insert(t, 1, 0); return table.concat(t)", "03124"),
        ("return table.remove(t) .. table.remove(t, 1) .. #t", "231"),
        ("return tostring(table.remove({}))", "nil"),
        ("return table.concat(t, '-', 2, 3)", "1-2"),
        ("return select('#', table.unpack(t, 2))", "2"),
        ("for k in pairs(t) do t[k] = nil end return next(t)", "nil"),
    ] {
        assert_eq!(with(body), text, "{body}");
    }
}

#[test]
fn texts_are_searched_as_ever() {
    for (expression, text) in [
        ("table.concat({('hello world'):find('o w')}, ',')", "5,7"),
        ("table.concat({('hello'):find('(l)(l)')}, ',')", "3,4,l,l"),
        ("table.concat({('a.b'):find('.', 2, true)}, ',')", "2,2"),
        ("('a)]'):find(')') .. ('a)]'):find(']')", "23"),
        ("('abc'):find('b', -1)", "nil"),
        ("('abc'):find('', 10)", "nil"),
        ("('abc'):find('', 4)", "4"),
        ("('key = value'):match('^(%w+)%s*=%s*(%w+)$')", "key"),
        ("table.concat({('2026-11-21'):match('(%d+)-(%d+)-(%d+)')}, '/')", "2026/11/21"),
        ("('x'):match('()')", "1"),
        ("('f(a(b)c)d'):match('%b()')", "(a(b)c)"),
        ("('THE (quick) fox'):find('%f[%a]%a+%f[%A]', 5)", "6"),
        ("('abab'):match('^(ab)%1$')", "ab"),
        ("('a-b'):match('[%a-]+') .. ('a]'):match('[]a]+') .. ('x^'):match('[x^]+')", "a-ba]x^"),
        ("('aaa'):match('a-$') .. ('aXb'):match('%u?b')", "aaaXb"),
        ("table.concat({('hello'):gsub('l', 'L')}, ',')", "heLLo,2"),
        ("(('hello'):gsub('', '-'))", "-h-e-l-l-o-"),
        ("(('abc def'):gsub('%w+', '<%0:%1>'))", "<abc:abc> <def:def>"),
        ("(('abc'):gsub('%w', {a = '1', b = true and 2}))", "12c"),
        ("(('abc'):gsub('(a)(b)', function(a, b) return b .. a end))", "bac"),
        ("(('abc'):gsub('^a', '%%'))", "%bc"),
        ("table.concat({('aaa'):gsub('a', 'b', 2)}, ',')", "bba,2"),
        (
            "(function() local t = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do t[#t + 1] = k .. v end return table.concat(t) end)()",
            "a1b2",
        ),
        ("(function() local n = 0 for _ in ('abc'):gmatch('') do n = n + 1 end return n end)()", "4"),
        ("('x'):rep(3, ',') .. ('ab'):upper() .. ('ab'):reverse() .. #('x'):rep(0)", "x,x,xABba0"),
        ("('abc'):byte(-1)", "99"),
    ] {
        assert_eq!(value(expression), text, "{expression}");
    }
}

#[test]
fn scripts_may_walk_large_objects_and_write_long_messages() {
    const WALK: &str = "local count, message = 0, ''
        for _, node in pairs(obj.status.nodes) do if node.ready then count = count + 1 end end
        for _, condition in ipairs(obj.status.conditions) do message = message .. condition.type .. ': ' .. condition.message .. '; ' end
        return {status = 'Healthy', message = count .. ' ' .. #message}";
    let nodes = vec![json!({"ready": true}); 10_000];
    let conditions =
        vec![json!({"type": "Ready", "message": "what is wrong with this one of many".repeat(2)}); 300];
    let status = json!({"nodes": nodes, "conditions": conditions});
    assert_eq!(line(WALK, &thing(&status)), "lua/example.org/Thing: Healthy [] 10000 23700");
}

#[test]
fn time_is_what_the_object_says() {
    for (expression, text) in [
        ("os.time({year = 2026, month = 1, day = 1, hour = 0})", "1767225600"),
        ("os.time({year = '2026', month = '01', day = '01', hour = '00'})", "1767225600"),
        ("os.date('!%Y-%m-%dT%H:%M:%SZ', 1767225600)", "2026-01-01T00:00:00Z"),
        ("os.date('*t', 1767225600).year .. os.date('*t', 1767225600).wday", "20265"),
        ("os.difftime(5, 3)", "2"),
        ("pcall(os.time)", "false"),
        ("pcall(os.date, '%Y')", "false"),
    ] {
        assert_eq!(value(expression), text, "{expression}");
    }
}

#[test]
fn nothing_shows_where_things_lie_in_memory() {
    for expression in ["{}", "print", "pairs", "string.format('%s', {})", "setmetatable({}, {__name = 'x'})"]
    {
        assert!(!value(expression).contains("0x"), "{expression}: {}", value(expression));
    }
    assert_eq!(value("pcall(string.format, '%p', {})"), "false");
    assert_eq!(value("setmetatable({}, {__tostring = function() return 'mine' end})"), "mine");
}

#[test]
fn rules_are_asked_in_the_order_of_argo_cd() {
    let scripts = Scripts::from_folder([(
        "_/health.lua".to_owned(),
        "if obj.kind == 'Pod' then return {status = 'Suspended', message = 'mine'} end".to_owned(),
    )]);
    let judge = Judge::new(&scripts.unwrap(), Patience::default());
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "status": {"phase": "Running"}});
    assert_eq!(judged(&judge, &pod).message, "mine", "scripts before built-in kinds");
    pod["metadata"]["deletionTimestamp"] = json!("2026-11-20T14:05:00Z");
    assert_eq!(judged(&judge, &pod).rule, "builtin/deletion", "deletion before scripts");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {}});
    let verdict = judged(&judge, &service);
    assert_eq!((verdict.rule.as_str(), verdict.health), ("lua/_", None), "nil is an answer: no health");
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {}});
    assert_eq!(judged(&judge, &job).rule, "builtin/Job", "what no script speaks of");
}

proptest! {
    #[test]
    fn without_scripts_a_judge_says_what_rules_say(phase in "[A-Za-z]{0,8}", ready in any::<bool>()) {
        let object = thing(&json!({"phase": phase, "conditions": [{"type": "Ready", "status": ready.to_string()}]}));
        let text = object.to_string();
        let object = Object::parse(&text).unwrap();
        prop_assert_eq!(Judge::new(&Scripts::default(), Patience::default()).judge(&object), assess(&object));
    }

    /// Two machines hash strings differently, and one that was used differs from one that was not.
    #[test]
    fn a_replay_judges_as_the_first_time(names in proptest::collection::btree_set("[a-zé]{1,6}", 0..20)) {
        const SCRIPT: &str = "local names = '' for k, v in pairs(obj.status) do names = names .. k .. tostring(v) end
            local first = next(obj.status)
            return {status = 'Healthy', message = names .. tostring(first) .. tostring(obj)}";
        let status: Value = names.iter().map(|name| (name.clone(), json!([]))).collect::<serde_json::Map<_, _>>().into();
        let (first, second) = (Judge::new(&one(SCRIPT), Patience::default()), Judge::new(&one(SCRIPT), Patience::default()));
        let verdict = judged(&first, &thing(&status));
        prop_assert_eq!(&verdict, &judged(&second, &thing(&status)));
        prop_assert_eq!(&verdict, &judged(&second, &thing(&status)));
        let expected: String = names.iter().map(|name| format!("{name}table")).collect();
        let first = names.first().map_or("nil", String::as_str);
        prop_assert_eq!(verdict.message, format!("{expected}{first}table"));
    }
}
