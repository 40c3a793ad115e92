-- Confirm that what names were reserved for is there: from now on nobody frees them, whoever reserved them.
--
-- KEYS[1] names         hash: name -> uuid
-- KEYS[2] reservations  hash: name -> token of whoever is about to write something with it
-- ARGV[1...] entries  per name: name, uuid
-- Returns per name 1, or 0 if it was freed meanwhile.
local names, reservations = KEYS[1], KEYS[2]

local answer = {}
for i = 1, #ARGV, 2 do
  local name, uuid = ARGV[i], ARGV[i + 1]
  local is_ours = redis.call('HGET', names, name) == uuid
  if is_ours then redis.call('HDEL', reservations, name) end
  answer[#answer + 1] = is_ours and 1 or 0
end
return answer
