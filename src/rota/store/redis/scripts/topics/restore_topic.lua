-- Keep records of elsewhere at their offsets; one whose id is there already stays as it is.
--
-- KEYS[1] ends       hash: `first` and `end`, the offsets of the oldest and of the next record
-- KEYS[2] ids        hash: id -> offset, of every record
-- KEYS[3] records    hash: offset -> when it was published, a space, id, a line feed, record (JSON)
-- ARGV[1] first      the offset of the oldest record
-- ARGV[2] stop       the offset of the next record
-- ARGV[3...] records  per record: offset, id, when it was published, record
-- Returns nothing.
local ends, ids, records = KEYS[1], KEYS[2], KEYS[3]
local first, stop = ARGV[1], ARGV[2]

for n = 3, #ARGV, 4 do
  local offset, id, published, record = ARGV[n], ARGV[n + 1], ARGV[n + 2], ARGV[n + 3]
  if redis.call('HSETNX', ids, id, offset) == 1 then
    redis.call('HSET', records, offset, published .. ' ' .. id .. '\n' .. record)
  end
end
redis.call('HSET', ends, 'first', first, 'end', stop)
