-- Have what events did to a configuration in the queue to which it is about to come, in place of what is left there of an
-- earlier stay. Nothing happens once it is there.
--
-- KEYS[1] states       hash: configuration uuid -> version, a space, state
-- KEYS[2] evaluations  list, latest first
-- KEYS[3] validations  sorted set by reception
-- KEYS[4] event_ids    sorted set by reception
-- ARGV[1] uuid
-- ARGV[2] expected           version of what is there, or '' for none
-- ARGV[3] evaluation_count
-- ARGV[4] validation_count
-- ARGV[5...] histories  the evaluations; per validation, and then per event id, its time and itself
-- Returns nothing.
-- include: chunks
local states, evaluations, validations, event_ids = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local uuid, expected, evaluation_count, validation_count = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local there = redis.call('HGET', states, uuid)
if (there and string.match(there, '^%d+') or '') ~= expected then return end
redis.call('UNLINK', evaluations, validations, event_ids)
local validations_at = 5 + evaluation_count
local ids_at = validations_at + 2 * validation_count
local received, known = {}, {}
for n = 5, validations_at - 1 do redis.call('RPUSH', evaluations, ARGV[n]) end
for n = validations_at, ids_at - 1 do received[#received + 1] = ARGV[n] end
for n = ids_at, #ARGV do known[#known + 1] = ARGV[n] end
add_all(validations, received)
add_all(event_ids, known)
