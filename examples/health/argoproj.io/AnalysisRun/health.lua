-- An analysis ends in a verdict of its own; an inconclusive one leaves the decision to people.
local status = obj.status or {}
local phase = status.phase or "Pending"
local health = { Successful = "Healthy", Failed = "Degraded", Error = "Degraded", Inconclusive = "Unknown" }

local failed = {}
for _, result in ipairs(status.metricResults or {}) do
  if result.phase == "Failed" or result.phase == "Error" then
    table.insert(failed, result.name)
  end
end
local message = status.message
if message == nil and #failed > 0 then
  message = "Failed: " .. table.concat(failed, ", ")
end
return { status = health[phase] or "Progressing", message = message or "The analysis is " .. phase }
