-- Read what is known of some claims.
--
-- KEYS[1] jobs   hash: job id -> spec
-- KEYS[2] marks  hash: job id -> mark
-- ARGV[1...] ids
-- Returns per id: spec or '', mark or ''.
local jobs, marks = KEYS[1], KEYS[2]

local answer = {}
for _, id in ipairs(ARGV) do
  answer[#answer + 1] = redis.call('HGET', jobs, id) or ''
  answer[#answer + 1] = redis.call('HGET', marks, id) or ''
end
return answer
