-- A backup ends well or badly; until then its phase says where it is.
local status = obj.status or {}
local phase = status.phase or "pending"
if phase == "completed" then
  local size = status.backupId and " as " .. status.backupId or ""
  return { status = "Healthy", message = "The backup is complete" .. size }
elseif phase == "failed" or phase == "walArchivingFailing" then
  return { status = "Degraded", message = status.error or "The backup is in the phase " .. phase }
end
return { status = "Progressing", message = "The backup is in the phase " .. phase }
