-- Whether the state of a schedule says that it is on its way to another queue, so that it is not in force here.
local function is_moving(state)
  return state and (string.sub(state, 1, 4) == 'to {' or string.sub(state, 1, 6) == 'from {')
end
