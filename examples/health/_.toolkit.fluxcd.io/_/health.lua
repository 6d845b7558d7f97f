-- All of Flux's kinds report alike: Stalled when nothing will change by itself, Reconciling while at work, Ready
-- for how it ended, each for the generation it speaks of.
local status = obj.status or {}
if obj.spec and obj.spec.suspend == true then
  return { status = "Suspended", message = "Reconciliation is suspended" }
elseif (status.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return { status = "Progressing", message = "The controller has not looked at the newest spec" }
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local function holds(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

local ready = conditions.Ready
if holds("Stalled") then
  return { status = "Degraded", message = conditions.Stalled.message }
elseif holds("Reconciling") or ready == nil or ready.status == "Unknown" then
  local working = conditions.Reconciling or ready
  return { status = "Progressing", message = working and working.message or "Nothing has been reported yet" }
elseif ready.status == "False" then
  -- What waits for another object is only late.
  local late = ready.reason == "DependencyNotReady" or ready.reason == "Progressing"
  return { status = late and "Progressing" or "Degraded", message = ready.message }
end
return { status = "Healthy", message = ready.message }
