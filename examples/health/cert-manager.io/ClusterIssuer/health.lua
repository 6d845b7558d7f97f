-- An issuer is what its Ready condition says; until there is one it is being set up.
local conditions = obj.status and obj.status.conditions or {}
for _, condition in ipairs(conditions) do
  if condition.type == "Ready" then
    local health = "Progressing"
    if condition.status == "True" then
      health = "Healthy"
    elseif condition.status == "False" then
      health = "Degraded"
    end
    return { status = health, message = condition.message }
  end
end
return { status = "Progressing", message = "The issuer is being set up" }
