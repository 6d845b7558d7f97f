-- A Kafka cluster is good when it is ready and each listener that was asked for has an address.
local status = obj.status or {}
local ready, problem
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then
    if condition.type == "ReconciliationPaused" then
      return { status = "Suspended", message = "Reconciliation is paused" }
    elseif condition.type == "Ready" then
      ready = condition
    elseif condition.type == "NotReady" then
      problem = condition
    end
  end
end

if (status.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return { status = "Progressing", message = "The operator has not looked at the newest spec" }
elseif problem then
  local health = problem.reason == "Creating" and "Progressing" or "Degraded"
  return { status = health, message = problem.message or problem.reason }
elseif ready == nil then
  return { status = "Progressing", message = "Nothing has been reported yet" }
end

local addresses = {}
for _, listener in ipairs(status.listeners or {}) do
  addresses[listener.name or listener.type] = listener.bootstrapServers
end
local kafka = obj.spec and obj.spec.kafka or {}
for _, listener in ipairs(kafka.listeners or {}) do
  if not addresses[listener.name] then
    return { status = "Progressing", message = "The listener " .. listener.name .. " has no address yet" }
  end
end
return { status = "Healthy", message = "Ready" .. (status.kafkaVersion and ", Kafka " .. status.kafkaVersion or "") }
