-- A server whose memory is full refuses the first write of a script if that may need memory, but nothing once the script has
-- written. A script that tells how things stand or settles what was begun must not be refused: it opens with a write that
-- changes nothing. (Redis 7 has a flag for this, 6.2 has not.) `key` has no expiry.
local function write_although_full(key)
  redis.call('PERSIST', key)
end
