-- Tell which jobs queues have. On a cluster each queue is asked by a call of its own.
--
-- KEYS[1...] jobs  per queue, hash: job id -> spec
-- ARGV[1...] ids
-- Returns pairs of numbers (from 0): of a queue, and of a job that it has.
local known = {}
for q, jobs in ipairs(KEYS) do
  for n, id in ipairs(ARGV) do
    if redis.call('HEXISTS', jobs, id) == 1 then
      known[#known + 1] = q - 1
      known[#known + 1] = n - 1
    end
  end
end
return known
