-- A request ends: approved and signed, or denied, invalid or failed. Its reason says which.
local denied, ready
for _, condition in ipairs(obj.status and obj.status.conditions or {}) do
  if condition.status == "True" and (condition.type == "Denied" or condition.type == "InvalidRequest") then
    denied = condition
  elseif condition.type == "Ready" then
    ready = condition
  end
end

if denied then
  return { status = "Degraded", message = denied.message or denied.type }
elseif ready == nil then
  return { status = "Progressing", message = "The request waits for its issuer" }
elseif ready.status == "True" then
  return { status = "Healthy", message = ready.message }
elseif ready.reason == "Failed" or ready.reason == "Denied" then
  return { status = "Degraded", message = ready.message }
end
return { status = "Progressing", message = ready.message }
