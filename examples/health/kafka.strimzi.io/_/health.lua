-- Every kind of Strimzi's has one way to report: Ready or NotReady, and warnings beside, once the operator has
-- looked at the newest spec. A pause is asked for by an annotation and then told as a condition.
local status = obj.status or {}
local conditions, warnings = {}, {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Warning" then
    table.insert(warnings, condition.reason)
  else
    conditions[condition.type] = condition
  end
end

local paused, ready, not_ready = conditions.ReconciliationPaused, conditions.Ready, conditions.NotReady
if paused and paused.status == "True" then
  return { status = "Suspended", message = "Reconciliation is paused" }
elseif (status.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return { status = "Progressing", message = "The operator has not looked at the newest spec" }
elseif ready and ready.status == "True" then
  local message = "Ready"
  if #warnings > 0 then
    message = message .. ", with warnings: " .. table.concat(warnings, ", ")
  end
  return { status = "Healthy", message = message }
end

-- While things come up, Strimzi says NotReady with the reason Creating.
local problem = not_ready or ready
if problem == nil or problem.reason == "Creating" then
  return { status = "Progressing", message = problem and problem.message or "Nothing has been reported yet" }
end
return { status = "Degraded", message = problem.message or problem.reason }
