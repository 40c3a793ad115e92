-- Ends of jobs that somebody waits for, as events. A script that ends jobs is given those that may be among them: how many, the
-- version of the definitions by which they were chosen, then per event: job id, time, event.

-- The version that the caller must know, if it knows an older one: then nothing may be ended. 0 if nobody has told the queue yet:
-- it may be younger than what waits, and the caller must look and tell it.
local function version_to_learn(awaited_since, known)
  local since = tonumber(redis.call('GET', awaited_since))
  if not since then return 0 end
  return since > tonumber(known) and since or nil
end

-- Put the events from `first` to `last` of `given` into the outbox whose jobs are over.
local function tell_ends(outbox, given, first, last, is_over)
  for i = first, last, 3 do
    local id, time, event = given[i], given[i + 1], given[i + 2]
    if is_over[id] then redis.call('ZADD', outbox, time, event) end
  end
end
