-- What scripts see of Lua: 5.1 with `goto`, and nothing that reads a clock, touches files, tells addresses,
-- depends on the order in which tables lie in memory, or works for long without paying.
--
-- Called once for a machine with what Strandline does for it; returns what fills the globals for a script.

local environment, charge, short_of_memory, find, time, date = ...

local assert, error, getmetatable, ipairs, load, next, pcall, rawequal, rawget, rawlen, rawset, select, setmetatable, tonumber, tostring, type =
  assert, error, getmetatable, ipairs, load, next, pcall, rawequal, rawget, rawlen, rawset, select, setmetatable, tonumber, tostring, type
local byte, char, sub, rep, format, lower, upper, reverse, len =
  string.byte, string.char, string.sub, string.rep, string.format, string.lower, string.upper, string.reverse, string.len
local gsub, floor = string.gsub, math.floor
local concat, sort, unpack = table.concat, table.sort, table.unpack

local function wanted(kind, value, place, name)
  if type(value) ~= kind then
    error("bad argument #" .. place .. " to '" .. name .. "' (" .. kind .. " expected, got " .. type(value) .. ")", 3)
  end
end

-- Numbers are texts in places where Lua takes them for such.
local function as_text(value, place, name)
  local kind = type(value)
  if kind ~= "string" and kind ~= "number" then
    error("bad argument #" .. place .. " to '" .. name .. "' (string expected, got " .. kind .. ")", 3)
  end
  return kind == "number" and tostring(value) or value
end

local PLAIN = { ["nil"] = true, boolean = true, string = true }

-- Addresses differ from run to run, so they are left out.
local function to_text(value)
  local kind = type(value)
  if kind == "number" then
    -- Lua itself writes 1e+15 from there on.
    return floor(value) == value and value < 1e18 and value > -1e18 and format("%.0f", value) or tostring(value)
  elseif PLAIN[kind] then
    return tostring(value)
  end
  local shown = tostring(value)
  charge(#shown)
  return (gsub(shown, ": 0x%x+$", ""))
end

-- Errors.

-- What was used up stays used up, whoever catches the error. What Strandline itself raises comes as userdata.
local function settled(ok, ...)
  if not ok then
    local problem = ...
    if problem == "not enough memory" or type(problem) == "userdata" then short_of_memory() end
    charge(0)
  end
  return ok, ...
end

local function protected(call, ...)
  return settled(pcall(call, ...))
end

local function handled(handler, ok, ...)
  if ok then return true, ... end
  return false, handler(...)
end

local function protected_by(call, handler, ...)
  return handled(handler, protected(call, ...))
end

-- Order. Strings are hashed otherwise in every process, so tables are walked in the order of their keys.

local RANK = { number = 1, string = 2, boolean = 3 }

local function before(one, other)
  local kind = type(one)
  if kind ~= type(other) then return RANK[kind] < RANK[type(other)] end
  if kind == "boolean" then return not one and other end
  return one < other
end

-- How long a table is that is a list and nothing else.
local function list_length(of)
  local count = 0
  for key in next, of do
    count = count + 1
    if key ~= count then return nil end
  end
  return count
end

local function sorted_keys(of)
  local keys, count, kind = {}, 0, nil
  for key in next, of do
    count = count + 1
    keys[count] = key
    local own = type(key)
    if not RANK[own] then error("keys of the type " .. own .. " have no order to walk them in", 3) end
    kind = (kind == nil or kind == own) and own or "mixed"
  end
  charge(count * 8)
  if kind == "string" or kind == "number" then sort(keys) else sort(keys, before) end
  return keys, count
end

local function walk(of)
  wanted("table", of, 1, "pairs")
  local at, count, keys = 0, list_length(of), nil
  if count == nil then keys, count = sorted_keys(of) end
  return function()
    while at < count do
      at = at + 1
      local key = at
      if keys then key = keys[at] end
      local value = rawget(of, key)
      if value ~= nil then return key, value end
    end
  end, of, nil
end

local function after(of, last)
  wanted("table", of, 1, "next")
  local found
  for key in next, of do
    if not RANK[type(key)] then error("keys of the type " .. type(key) .. " have no order to walk them in", 2) end
    if (last == nil or before(last, key)) and (found == nil or before(key, found)) then found = key end
  end
  if found ~= nil then return found, rawget(of, found) end
end

-- Finalizers and weak tables would let a script see when memory is cleared.
local function with_metatable(of, metatable)
  wanted("table", of, 1, "setmetatable")
  if metatable ~= nil then
    wanted("table", metatable, 2, "setmetatable")
    if rawget(metatable, "__gc") ~= nil or rawget(metatable, "__mode") ~= nil then
      error("__gc and __mode are not available to health scripts", 2)
    end
  end
  return setmetatable(of, metatable)
end

local function number_of(...)
  local value = ...
  if type(value) == "string" then charge(#value / 8) end
  return tonumber(...)
end

-- Only text is loaded: bytecode can do anything.
local function loaded(text, name, _, own)
  if type(text) ~= "string" then return nil, "only text can be loaded" end
  charge(#text * 4)
  local made, problem = load(text, type(name) == "string" and name or "=load", "t", own or environment)
  if problem == "not enough memory" then short_of_memory() end
  return made, problem
end

-- Strings.

local function formatted(pattern, ...)
  pattern = as_text(pattern, 1, "format")
  charge(#pattern)
  local given, at, count = { ... }, 0, select("#", ...)
  gsub(pattern, "%%[-+ #0]*%d*%.?%d*(.?)", function(directive)
    if directive == "%" then return end
    at = at + 1
    if directive == "s" and at <= count then given[at] = to_text(given[at]) end
  end)
  return format(pattern, unpack(given, 1, count))
end

local function repeated(text, times, between)
  text = as_text(text, 1, "rep")
  times = floor(number_of(times))
  between = between == nil and "" or as_text(between, 3, "rep")
  -- Nothing, a billion times, is no memory but much work.
  if times <= 0 or #text + #between == 0 then return "" end
  charge(times / 8)
  return rep(text, times, between)
end

-- Where to begin, from 0; negative numbers count from the end.
local function start_of(text, from)
  from = from == nil and 1 or floor(number_of(from))
  if from < 0 then from = from + #text + 1 end
  return from < 1 and 0 or from - 1
end

-- What was found, or the error at that level.
local function told(level, problem, ...)
  if problem then error(problem, level) end
  return ...
end

local function found_in(text, pattern, from, plain)
  text, pattern = as_text(text, 1, "find"), as_text(pattern, 2, "find")
  return told(2, find(text, pattern, start_of(text, from), plain and "plain" or "find"))
end

local function matched_in(text, pattern, from)
  text, pattern = as_text(text, 1, "match"), as_text(pattern, 2, "match")
  return told(2, find(text, pattern, start_of(text, from), "match"))
end

local function all_matches(text, pattern)
  text, pattern = as_text(text, 1, "gmatch"), as_text(pattern, 2, "gmatch")
  local from = 0
  local function go_on(first, past, ...)
    if first == nil then
      from = #text + 1
      return nil
    end
    from = past > first and past or past + 1
    return ...
  end
  return function()
    if from > #text then return nil end
    return go_on(told(3, find(text, pattern, from, "next")))
  end
end

local function filled(template, match, ...)
  local captures = { ... }
  return (gsub(template, "%%(.?)", function(which)
    if which == "0" then return match end
    local index = tonumber(which)
    if index then
      if captures[index] == nil then error("invalid capture index %" .. which .. " in replacement string", 6) end
      return to_text(captures[index])
    end
    if which == "%" then return "%" end
    error("invalid use of '%' in replacement string", 6)
  end))
end

local function substitute(by, match, ...)
  local kind = type(by)
  if kind == "string" then
    charge(#by)
    return filled(by, match, ...)
  end
  local value
  if kind == "table" then value = by[(...)] else value = by(...) end
  if not value then return match end
  if type(value) ~= "string" and type(value) ~= "number" then
    error("invalid replacement value (a " .. type(value) .. ")", 4)
  end
  return to_text(value)
end

local function replaced(text, pattern, by, most)
  text, pattern = as_text(text, 1, "gsub"), as_text(pattern, 2, "gsub")
  if type(by) == "number" then by = tostring(by) end
  if type(by) ~= "string" and type(by) ~= "table" and type(by) ~= "function" then
    error("bad argument #3 to 'gsub' (string/function/table expected, got " .. type(by) .. ")", 2)
  end
  local pieces, from, count, kept = {}, 0, 0, 1
  local anchored = byte(pattern, 1) == 94
  local function take(first, past, ...)
    if first == nil then return false end
    pieces[#pieces + 1] = sub(text, kept, first)
    pieces[#pieces + 1] = substitute(by, sub(text, first + 1, past), ...)
    count, kept = count + 1, past + 1
    from = past > first and past or past + 1
    return true
  end
  while from <= #text and (most == nil or count < most) do
    if not take(told(3, find(text, pattern, from, "replace"))) or anchored then break end
  end
  pieces[#pieces + 1] = sub(text, kept)
  return concat(pieces), count
end

-- Tables. Metatables are not asked: a length of 2^60 that one of them promises is no length.

local function inserted(list, ...)
  wanted("table", list, 1, "insert")
  local size = rawlen(list)
  if select("#", ...) == 1 then
    rawset(list, size + 1, (...))
    return
  end
  local at, value = ...
  wanted("number", at, 2, "insert")
  for place = size, at, -1 do rawset(list, place + 1, rawget(list, place)) end
  rawset(list, at, value)
end

local function removed(list, at)
  wanted("table", list, 1, "remove")
  local size = rawlen(list)
  at = at == nil and size or at
  wanted("number", at, 2, "remove")
  if size == 0 then return nil end
  local value = rawget(list, at)
  for place = at, size - 1 do rawset(list, place, rawget(list, place + 1)) end
  if at <= size then rawset(list, size, nil) end
  return value
end

-- A copy without a metatable.
local function copied(list, first, last)
  local copy = {}
  for place = first, last do copy[place] = rawget(list, place) end
  return copy
end

local function joined(list, between, first, last)
  wanted("table", list, 1, "concat")
  first, last = first or 1, last or rawlen(list)
  local copy = {}
  for place = first, last do
    local value = rawget(list, place)
    if type(value) ~= "string" and type(value) ~= "number" then
      error("invalid value (at index " .. place .. ") in table for 'concat'", 2)
    end
    copy[place] = to_text(value)
  end
  return concat(copy, between and to_text(between), first, last)
end

local function ordered(list, comes_first)
  wanted("table", list, 1, "sort")
  local size = rawlen(list)
  local copy = copied(list, 1, size)
  charge(size * 32)
  sort(copy, comes_first)
  for place = 1, size do rawset(list, place, copy[place]) end
end

local function unpacked(list, first, last)
  wanted("table", list, 1, "unpack")
  first, last = first or 1, last or rawlen(list)
  charge(last > first and last - first or 0)
  return unpack(copied(list, first, last), first, last)
end

local function largest_index(list)
  wanted("table", list, 1, "maxn")
  local largest = 0
  for key in next, list do
    if type(key) == "number" and key > largest then largest = key end
  end
  return largest
end

local function length(list)
  wanted("table", list, 1, "getn")
  return rawlen(list)
end

-- Time: only what was said, never what it is now.

local function time_of(parts)
  if parts == nil then
    error("os.time() without a time is not available: a health script judges by the object alone", 2)
  end
  wanted("table", parts, 1, "time")
  local part = function(name) return tonumber(rawget(parts, name)) end
  local found = time(part("year"), part("month"), part("day"), part("hour"), part("min"), part("sec"))
  return found or error("time out of range", 2)
end

local function date_of(pattern, at)
  if at == nil then
    error("os.date() without a time is not available: a health script judges by the object alone", 2)
  end
  wanted("number", at, 2, "date")
  pattern = gsub(pattern == nil and "%c" or as_text(pattern, 1, "date"), "^!", "")
  charge(#pattern)
  local shown = date(pattern, floor(at)) or error("time out of range", 2)
  if pattern ~= "*t" then return shown end
  local part = function(directive) return tonumber(date(directive, floor(at))) end
  return {
    year = part("%Y"), month = part("%m"), day = part("%d"), hour = part("%H"), min = part("%M"), sec = part("%S"),
    wday = part("%w") + 1, yday = part("%j"), isdst = false,
  }
end

local libraries = {
  string = {
    byte = byte, char = char, find = found_in, format = formatted, gfind = all_matches, gmatch = all_matches,
    gsub = replaced, len = len, lower = lower, match = matched_in, rep = repeated, reverse = reverse, sub = sub,
    upper = upper,
  },
  table = {
    concat = joined, getn = length, insert = inserted, maxn = largest_index, remove = removed, sort = ordered,
    unpack = unpacked,
  },
  math = { mod = math.fmod, log10 = function(value) return math.log(value, 10) end },
  os = {
    date = date_of,
    difftime = function(later, earlier) return later - (earlier or 0) end,
    time = time_of,
  },
}
for _, name in ipairs({
  "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod", "frexp", "huge",
  "ldexp", "log", "max", "min", "modf", "pi", "pow", "rad", "sin", "sinh", "sqrt", "tan", "tanh",
}) do
  libraries.math[name] = math[name]
end

local globals = {
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, load = loaded, loadstring = loaded,
  next = after, pairs = walk, pcall = protected, print = function() end, rawequal = rawequal, rawget = rawget,
  rawlen = rawlen, rawset = rawset, select = select, setmetatable = with_metatable, tonumber = number_of,
  tostring = to_text, type = type, unpack = unpacked, xpcall = protected_by, _VERSION = "Lua 5.1",
}

-- What every text can do, out of the reach of scripts.
local of_strings = getmetatable("")
of_strings.__index = {}
for name, value in next, libraries.string do of_strings.__index[name] = value end
of_strings.__metatable = false

-- Fills the globals of a script, each with tables of its own that it may change as it likes.
return function()
  for name, value in next, globals do environment[name] = value end
  local own = {}
  for name, library in next, libraries do
    own[name] = {}
    for member, value in next, library do own[name][member] = value end
    environment[name] = own[name]
  end
  environment._G = environment
  environment.actionParams = {}
  environment.require = function(name)
    return own[name] or error("module '" .. to_text(name) .. "' is not available to health scripts", 2)
  end
end
