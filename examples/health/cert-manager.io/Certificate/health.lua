-- A certificate is good while it is ready and its issuer follows. One that is issued anew while the old one
-- still serves is on its way; one whose last attempt failed will be tried again only after a pause.
local conditions = {}
for _, condition in ipairs(obj.status and obj.status.conditions or {}) do
  conditions[condition.type] = condition
end

local function says(health, condition, otherwise)
  return { status = health, message = condition and condition.message or otherwise }
end

local ready, issuing = conditions.Ready, conditions.Issuing
if issuing and issuing.status == "False" and issuing.reason == "Failed" then
  return says("Degraded", issuing, "The last attempt to issue the certificate failed")
elseif issuing and issuing.status == "True" then
  return says("Progressing", issuing, "The certificate is being issued")
elseif ready == nil then
  return says("Progressing", nil, "The certificate has not been looked at yet")
elseif ready.status == "True" then
  if ready.observedGeneration and ready.observedGeneration < (obj.metadata.generation or 0) then
    return says("Progressing", nil, "The certificate has not been looked at since its last change")
  end
  return says("Healthy", ready, "The certificate is ready")
end
return says("Degraded", ready, "The certificate is not ready")
