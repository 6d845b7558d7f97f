-- A schedule is good once it knows when the next backup is due.
if obj.spec and obj.spec.suspend == true then
  return { status = "Suspended", message = "The schedule is suspended" }
elseif obj.status and obj.status.nextScheduleTime then
  return { status = "Healthy", message = "The next backup is due at " .. obj.status.nextScheduleTime }
end
return { status = "Progressing", message = "The next backup has not been scheduled yet" }
