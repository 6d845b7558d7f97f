-- CloudNativePG tells its phase in a sentence; what counts is how many instances serve and whether there is a
-- primary that writes. Hibernation is asked for by an annotation and is no fault.
local status = obj.status or {}
local annotations = obj.metadata.annotations or {}
local phase = status.phase or "The cluster has not been looked at yet"
local wanted = obj.spec and obj.spec.instances or 1
local ready = status.readyInstances or 0

for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "cnpg.io/hibernation" and condition.status == "True" then
    return { status = "Suspended", message = condition.message or "The cluster hibernates" }
  end
end
if annotations["cnpg.io/hibernation"] == "on" then
  return { status = "Progressing", message = "The cluster is going into hibernation" }
elseif annotations["cnpg.io/fencedInstances"] then
  return { status = "Suspended", message = "Instances are fenced: " .. annotations["cnpg.io/fencedInstances"] }
end

local counted = ready .. " of " .. wanted .. " instances are ready"
if phase == "Cluster in healthy state" and ready >= wanted then
  return { status = "Healthy", message = counted }
elseif phase:find("Failing over", 1, true) or phase:find("Unrecoverable", 1, true)
  or phase:find("cannot proceed", 1, true) or phase:find("Not enough disk space", 1, true) then
  local why = status.phaseReason and ": " .. status.phaseReason or ""
  return { status = "Degraded", message = phase .. why }
elseif phase == "Waiting for user action" then
  return { status = "Suspended", message = status.phaseReason or phase }
end
return { status = "Progressing", message = phase .. ", " .. counted }
