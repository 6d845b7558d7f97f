-- All of Flux's kinds report alike: Stalled when nothing will change by itself, Reconciling while at work, Ready
-- for how it ended. Each condition names the generation it speaks of; that of the status only moves once all is
-- well, so what fails stays behind it. Alerts and providers report nothing and have no health.
local status = obj.status
if obj.spec and obj.spec.suspend == true then
  return { status = "Suspended", message = "Reconciliation is suspended" }
elseif status == nil then
  return nil
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  local seen = condition.observedGeneration or status.observedGeneration or 0
  if seen >= (obj.metadata.generation or 0) then
    conditions[condition.type] = condition
  end
end
local function holds(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

local ready = conditions.Ready
if holds("Stalled") then
  return { status = "Degraded", message = conditions.Stalled.message }
elseif ready and ready.status == "False" then
  -- It goes on trying, which is no progress; but what waits for another object is only late.
  local late = ready.reason == "DependencyNotReady" or ready.reason == "Progressing"
  return { status = late and "Progressing" or "Degraded", message = ready.message }
elseif holds("Reconciling") or (ready and ready.status ~= "True") then
  return { status = "Progressing", message = (conditions.Reconciling or ready).message }
elseif ready == nil then
  return { status = "Progressing", message = "The controller has not looked at the newest spec" }
end
return { status = "Healthy", message = ready.message }
