//! A Lua machine in which a script judges one object after another, and can reach nothing else.

use std::collections::HashMap;
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{
    Error, Function, HookTriggers, Lua, LuaOptions, LuaString, MultiValue, StdLib, Table, Value, VmState,
};

use super::budget::{Budget, Limit, MEMORY_BYTES, OBJECT_MEMORY_BYTES, SLICE};
use super::library;
use super::script::Script;
use super::values;
use strandline_object::Object;

/// The name under which Lua knows a script while it runs; messages get the script's own.
const CHUNK: &str = "health.lua";
/// The name under which Lua knows what we give to scripts; scripts do not see it.
const PRELUDE: &str = "prelude";
/// What Lua raises when it gets no more memory.
const OUT_OF_MEMORY: &str = "not enough memory";
/// What earlier runs may leave behind before it is cleared.
const GARBAGE_BYTES: usize = 16 << 20;

/// What a script said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// This health, by its word, and a message.
    Said { status: String, message: String },
    /// Nothing: nil, or an empty table.
    Silent,
    /// Something that is no answer.
    Nonsense(String),
    /// It failed, with Lua's message.
    Failed(String),
    /// It used up what it may.
    Spent(Limit),
}

/// A machine for one thread.
#[derive(Debug)]
pub(super) struct Machine {
    lua: Lua,
    budget: Rc<Budget>,
    /// The globals of scripts, filled anew for each run.
    environment: Table,
    /// Fills them.
    fill: Function,
    /// Calls a function and reports errors instead of raising them.
    guard: Function,
    /// Scripts that were compiled, by their place in the set.
    compiled: HashMap<usize, Function>,
    /// Bytes in use after the last clearing up.
    idle_bytes: usize,
}

impl Machine {
    /// A machine without scripts.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn new() -> Result<Machine, Error> {
        let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::new())?;
        lua.gc_stop();
        let budget = Rc::new(Budget::default());
        let environment = lua.create_table()?;
        let guard: Function = lua.globals().raw_get("pcall")?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name(format!("={PRELUDE}"));
        let fill = prelude.call((
            environment.clone(),
            charge(&lua, &budget)?,
            short_of_memory(&lua, &budget)?,
            library::find(&lua, &budget)?,
            library::time(&lua)?,
            library::date(&lua)?,
        ))?;
        let idle_bytes = lua.used_memory();
        Ok(Machine { lua, budget, environment, fill, guard, compiled: HashMap::new(), idle_bytes })
    }

    /// Lets a script judge an object; `place` is the script's place in its set.
    pub(super) fn run(&mut self, place: usize, script: &Script, object: &Object<'_>) -> Outcome {
        let outcome = self.judged(place, script, object).unwrap_or_else(|error| failed(&error, &self.budget));
        self.lua.remove_hook();
        match (self.budget.hit(), outcome) {
            (Some(limit), _) => Outcome::Spent(limit),
            (None, Outcome::Failed(message)) => Outcome::Failed(placed(&message, script)),
            (None, other) => other,
        }
    }

    fn judged(&mut self, place: usize, script: &Script, object: &Object<'_>) -> Result<Outcome, Error> {
        self.limit(usize::MAX)?;
        self.budget.begin(0, 0);
        self.tidy()?;
        self.environment.clear()?;
        self.environment.set_metatable(None)?;
        self.fill.call::<()>(())?;

        let function = self.function(place, script)?;

        self.limit(OBJECT_MEMORY_BYTES)?;
        let tables = match values::of_object(&self.lua, object) {
            Ok(tables) => tables,
            Err(limit) => return Ok(Outcome::Spent(self.budget.exceeded(limit).0)),
        };
        self.environment.raw_set("obj", tables.object)?;

        self.limit(MEMORY_BYTES)?;
        self.budget.begin(self.lua.used_memory(), tables.longest_bytes);
        self.watch()?;
        let answer: MultiValue = self.guard.call(function)?;
        answered(answer, &self.budget)
    }

    /// Lets the machine grow by so much from here on.
    fn limit(&self, bytes: usize) -> Result<(), Error> {
        let limit = self.lua.used_memory().saturating_add(bytes).min(isize::MAX as usize);
        self.lua.set_memory_limit(limit).map(drop)
    }

    /// Clears up what earlier runs left, once it is much.
    fn tidy(&mut self) -> Result<(), Error> {
        if self.lua.used_memory().saturating_sub(self.idle_bytes) > GARBAGE_BYTES {
            self.lua.gc_collect()?;
            self.idle_bytes = self.lua.used_memory();
        }
        Ok(())
    }

    fn function(&mut self, place: usize, script: &Script) -> Result<Function, Error> {
        if let Some(function) = self.compiled.get(&place) {
            return Ok(function.clone());
        }
        let function = compiled(&self.lua, &script.text, Some(self.environment.clone()))?;
        self.compiled.insert(place, function.clone());
        Ok(function)
    }

    /// Looks at the script after every slice.
    fn watch(&self) -> Result<(), Error> {
        let budget = Rc::clone(&self.budget);
        self.lua.set_hook(HookTriggers::new().every_nth_instruction(SLICE), move |lua, _| {
            budget.spend_slice(lua.used_memory()).map_err(Error::external)?;
            Ok(VmState::Continue)
        })
    }
}

/// Compiles a script; its globals are those of `environment`.
fn compiled(lua: &Lua, text: &str, environment: Option<Table>) -> Result<Function, Error> {
    let chunk = lua.load(text).set_name(format!("={CHUNK}")).set_mode(ChunkMode::Text);
    match environment {
        Some(environment) => chunk.set_environment(environment).into_function(),
        None => chunk.into_function(),
    }
}

/// Why a script cannot be compiled: the line, zero where it is not known, and Lua's words.
pub(super) fn syntax_error(text: &str) -> Option<(u64, String)> {
    let outcome = Lua::new_with(StdLib::NONE, LuaOptions::new()).and_then(|lua| {
        lua.set_memory_limit(OBJECT_MEMORY_BYTES)?;
        compiled(&lua, text, None)
    });
    let message = message_of(&outcome.err()?);
    let rest = message.strip_prefix(CHUNK).and_then(|rest| rest.strip_prefix(':'));
    let (line, words) = rest.and_then(|rest| rest.split_once(": ")).unwrap_or(("", &message));
    Some((line.parse().unwrap_or(0), words.to_owned()))
}

/// What pays for work done outside of Lua's instructions.
fn charge(lua: &Lua, budget: &Rc<Budget>) -> Result<Function, Error> {
    let budget = Rc::clone(budget);
    // Negative and undefined amounts are nothing; what is too large is the largest.
    lua.create_function(move |_, instructions: f64| {
        budget.spend(instructions as u64).map_err(Error::external)
    })
}

/// What ends a script that caught the error of having no memory left.
fn short_of_memory(lua: &Lua, budget: &Rc<Budget>) -> Result<Function, Error> {
    let budget = Rc::clone(budget);
    lua.create_function(move |_, ()| -> Result<(), Error> {
        Err(Error::external(budget.exceeded(Limit::Memory)))
    })
}

/// What an error of the machine itself means.
fn failed(error: &Error, budget: &Budget) -> Outcome {
    match error {
        Error::MemoryError(_) => Outcome::Spent(budget.exceeded(Limit::Memory).0),
        error => Outcome::Failed(message_of(error)),
    }
}

/// What the guard returns: whether it went well, and then the last value or the error.
fn answered(mut answer: MultiValue, budget: &Budget) -> Result<Outcome, Error> {
    let went_well = answer.pop_front();
    let last = answer.pop_back().unwrap_or(Value::Nil);
    if went_well != Some(Value::Boolean(true)) {
        return Ok(raised(&last, budget));
    }
    let table = match last {
        Value::Nil => return Ok(Outcome::Silent),
        Value::Table(table) => table,
        other => return Ok(Outcome::Nonsense(format!("returned a {}, not a table", kind_of(&other)))),
    };
    let (status, message): (Value, Value) = (table.raw_get("status")?, table.raw_get("message")?);
    // What Argo CD's encoder takes for a list says nothing there either.
    if status.is_nil() && message.is_nil() && (table.is_empty() || table.raw_len() > 0) {
        return Ok(Outcome::Silent);
    }
    Ok(match (status, message) {
        (Value::String(status), Value::Nil) => {
            Outcome::Said { status: text(&status), message: String::new() }
        }
        (Value::String(status), Value::String(message)) => {
            Outcome::Said { status: text(&status), message: text(&message) }
        }
        (Value::Nil, _) => Outcome::Nonsense("returned no status".to_owned()),
        (Value::String(_), other) => {
            Outcome::Nonsense(format!("returned a {} as message, not a string", kind_of(&other)))
        }
        (other, _) => Outcome::Nonsense(format!("returned a {} as status, not a string", kind_of(&other))),
    })
}

/// A text as far as it is one, and no longer than anyone would read.
fn text(text: &LuaString) -> String {
    let bytes = text.as_bytes();
    shortened(&String::from_utf8_lossy(bytes.get(..MESSAGE_BYTES_MAX + 1).unwrap_or(&bytes)))
}

/// How much of a message is kept.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

fn shortened(text: &str) -> String {
    if text.len() <= MESSAGE_BYTES_MAX {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default())
}

/// What a script raised: anything can be raised in Lua.
fn raised(value: &Value, budget: &Budget) -> Outcome {
    match value {
        Value::String(message) if *message == OUT_OF_MEMORY => {
            Outcome::Spent(budget.exceeded(Limit::Memory).0)
        }
        Value::String(message) => Outcome::Failed(text(message)),
        Value::Integer(number) => Outcome::Failed(number.to_string()),
        Value::Number(number) => Outcome::Failed(number.to_string()),
        Value::Error(error) => failed(error, budget),
        other => Outcome::Failed(format!("an error that is a {}", kind_of(other))),
    }
}

/// The type of a value as Lua calls it.
fn kind_of(value: &Value) -> &'static str {
    if value.is_number() || value.is_integer() { "number" } else { value.type_name() }
}

/// What an error of the machine says, without its trace.
fn message_of(error: &Error) -> String {
    let message = match error {
        Error::RuntimeError(message) | Error::SyntaxError { message, .. } => message.clone(),
        Error::CallbackError { cause, .. } => message_of(cause),
        other => other.to_string(),
    };
    let message = message.split("\nstack traceback:").next().unwrap_or_default();
    shortened(message)
}

/// Names the script where Lua names only what all are called, and hides what is not the script's.
fn placed(message: &str, script: &Script) -> String {
    let ours = message.strip_prefix(PRELUDE).and_then(|rest| rest.strip_prefix(':'));
    if let Some((_, words)) = ours.and_then(|rest| rest.split_once(": ")) {
        return format!("{}: {words}", script.origin);
    }
    match message.strip_prefix(CHUNK).filter(|rest| rest.starts_with(':')) {
        Some(rest) => format!("{}{rest}", script.origin),
        None => format!("{}: {message}", script.origin),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_runs_leave_behind_is_cleared() {
        let mut machine = Machine::new().unwrap();
        let script = Script {
            rule: String::new(),
            origin: String::new(),
            text: "local t = {} for i = 1, 100 do t[i] = ('x'):rep(10000) end return {status = 'Healthy'}"
                .to_owned(),
        };
        let text = json!({"status": {"list": vec!["some text"; 1000]}}).to_string();
        let object = Object::parse(&text).unwrap();
        let mut most_bytes = 0;
        for _ in 0..200 {
            let said = Outcome::Said { status: "Healthy".to_owned(), message: String::new() };
            assert_eq!(machine.run(0, &script, &object), said);
            most_bytes = most_bytes.max(machine.lua.used_memory());
        }
        assert!(most_bytes > GARBAGE_BYTES, "nothing is cleared while it is little");
        assert!(most_bytes < 2 * GARBAGE_BYTES, "{most_bytes} bytes");
    }
}
