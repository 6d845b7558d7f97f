-- A scaled job only starts Jobs; whether these succeed is told by the Jobs themselves.
for _, condition in ipairs(obj.status and obj.status.conditions or {}) do
  if condition.type == "Paused" and condition.status == "True" then
    return { status = "Suspended", message = condition.message }
  end
end
for _, condition in ipairs(obj.status and obj.status.conditions or {}) do
  if condition.type == "Ready" then
    local known = { True = "Healthy", False = "Degraded" }
    return { status = known[condition.status] or "Progressing", message = condition.message }
  end
end
return { status = "Progressing", message = "The scaled job has not been looked at yet" }
