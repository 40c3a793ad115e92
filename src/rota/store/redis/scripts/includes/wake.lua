-- Signal to one waiting node that jobs became ready, unless there is a signal already.
local function signal(wake)
  if redis.call('EXISTS', wake) == 0 then redis.call('RPUSH', wake, '1') end
end
