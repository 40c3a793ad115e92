-- Find claims of nodes whose lease is over or missing.
--
-- KEYS[1] running  hash: job id -> token, rank, claim time
-- KEYS[2] leases   sorted set: node by the end of its lease
-- KEYS[3] jobs     hash: job id -> spec
-- KEYS[4] marks    hash: job id -> mark
-- ARGV[1] now    epoch milliseconds
-- ARGV[2] limit  most claims to return
-- Returns per claim: spec, token, rank, mark or ''.
local running, leases, jobs, marks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now, limit = tonumber(ARGV[1]), tonumber(ARGV[2])

local alive, answer = {}, {}
local function is_alive(node)
  if alive[node] == nil then
    local lease = redis.call('ZSCORE', leases, node)
    alive[node] = lease and tonumber(lease) > now or false
  end
  return alive[node]
end

local all = redis.call('HGETALL', running)
for n = 1, #all, 2 do
  if #answer >= limit * 4 then break end
  local id = all[n]
  local token, rank = string.match(all[n + 1], '^(.*) (%S+) %S+$')
  if not is_alive(string.match(token, '^(.*)/')) then
    answer[#answer + 1] = redis.call('HGET', jobs, id)
    answer[#answer + 1] = token
    answer[#answer + 1] = rank
    answer[#answer + 1] = redis.call('HGET', marks, id) or ''
  end
end
return answer
