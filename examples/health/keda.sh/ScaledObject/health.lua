-- A scaled object is good while its triggers can be read. When they cannot, KEDA falls back to a number of
-- replicas that someone wrote down: it runs, but not by what is going on.
local conditions = {}
for _, condition in ipairs(obj.status and obj.status.conditions or {}) do
  conditions[condition.type] = condition
end

local ready, paused, fallback = conditions.Ready, conditions.Paused, conditions.Fallback
if paused and paused.status == "True" then
  return { status = "Suspended", message = paused.message }
elseif ready == nil or ready.status == "Unknown" then
  return { status = "Progressing", message = "The scaled object has not been looked at yet" }
elseif ready.status == "False" then
  return { status = "Degraded", message = ready.message }
elseif fallback and fallback.status == "True" then
  return { status = "Degraded", message = fallback.message }
end

local failing = {}
for name, trigger in pairs(obj.status.health or {}) do
  if trigger.status == "Failing" then
    table.insert(failing, name .. " (" .. (trigger.numberOfFailures or 0) .. " times)")
  end
end
if #failing > 0 then
  table.sort(failing)
  return { status = "Degraded", message = "Triggers fail: " .. table.concat(failing, ", ") }
end
return { status = "Healthy", message = ready.message }
