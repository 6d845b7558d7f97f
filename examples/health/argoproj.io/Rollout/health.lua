-- A rollout is paused on purpose, aborted, stuck, or on its way to the newest spec. Replicas are counted, so that
-- a rollout that says Healthy but lacks Pods is not taken for good.
local status = obj.status or {}
local wanted = obj.spec and obj.spec.replicas or 1

if (tonumber(status.observedGeneration) or 0) < (obj.metadata.generation or 0) then
  return { status = "Progressing", message = "The controller has not looked at the newest spec" }
elseif status.abort then
  return { status = "Degraded", message = status.message or "The rollout was aborted" }
elseif obj.spec and obj.spec.paused then
  return { status = "Suspended", message = "The rollout is paused by its spec" }
end
for _, condition in ipairs(status.conditions or {}) do
  local stuck = condition.type == "Progressing" and condition.status == "False"
    and condition.reason == "ProgressDeadlineExceeded"
  if stuck or (condition.type == "InvalidSpec" and condition.status == "True") then
    return { status = "Degraded", message = condition.message }
  end
end

local pauses = {}
for _, pause in ipairs(status.pauseConditions or {}) do
  table.insert(pauses, pause.reason)
end
if table.getn(pauses) > 0 then
  local canary = obj.spec.strategy and obj.spec.strategy.canary
  local step = ""
  if canary and canary.steps and status.currentStepIndex then
    step = string.format(" at step %d of %d", status.currentStepIndex, #canary.steps)
  end
  return { status = "Suspended", message = "Paused" .. step .. ": " .. table.concat(pauses, ", ") }
end

local available = status.availableReplicas or 0
local counted = string.format("%d of %d replicas are available", available, wanted)
local done = status.currentPodHash ~= nil and status.currentPodHash == status.stableRS
if done and available >= wanted and (status.updatedReplicas or 0) >= wanted then
  return { status = "Healthy", message = counted }
end
return { status = "Progressing", message = status.message or counted }
