-- Read configurations of one queue, and which of some event ids are known to each.
--
-- KEYS[1] configurations  hash: configuration uuid -> configuration
-- KEYS[2] states          hash: configuration uuid -> version, a space, state
-- KEYS[3...] event_ids    per configuration a sorted set: ids that senders gave to events
-- ARGV[1] id_count  number of event ids
-- ARGV[2...] names  the event ids, then the uuids of the configurations
-- Returns per configuration a list: nothing, or configuration, state, and the event ids that are known.
local configurations, states = KEYS[1], KEYS[2]
local id_count = tonumber(ARGV[1])

local answer = {}
for i = 2 + id_count, #ARGV do
  local uuid, known = ARGV[i], KEYS[#answer + 3]
  local body, state = redis.call('HGET', configurations, uuid), redis.call('HGET', states, uuid)
  local entry = body and {body, string.match(state or '', '^%d+ (.*)$') or ''} or {}
  if body and id_count > 0 and redis.call('EXISTS', known) == 1 then
    for n = 2, 1 + id_count do
      if redis.call('ZSCORE', known, ARGV[n]) then entry[#entry + 1] = ARGV[n] end
    end
  end
  answer[#answer + 1] = entry
end
return answer
