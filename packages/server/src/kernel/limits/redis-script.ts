/**
 * What the shared store runs. The scripts do the sums of `arithmetic.ts` and `targets.ts` there; tests hold both
 * together.
 */

/**
 * The sums of `arithmetic.ts` as a script of Valkey or Redis: all wants of a request in one round trip, atomically, by
 * the server's time, so that any number of processes count as one.
 *
 * Arguments: `1` to spend or `0` to look, milliseconds to add to the server's time (a sandbox whose clock was moved),
 * then for each key `window|bucket`, `enforce|shadow|off`, limit, window in milliseconds, burst, and the name under
 * which it is listed as busy (empty: not listed). The last key is that list.
 * Answer: the time, then for each want the wait, what remains, and when it is whole again.
 *
 * A window is a list of moments, oldest first; a bucket is a string, `<full at, ms> <parts of a millisecond>`.
 */
export const limitScript = `
local spending = ARGV[1] == '1'
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[2])
local answer = { now }
local count = #KEYS - 1
local wants = {}
local pass = true
local function keep(want, owed)
  local full = now + math.floor(owed / want.limit)
  redis.call('SET', want.key, string.format('%.0f %.0f', full, owed % want.limit), 'PX', full - now + 1000)
end
local function seen(want)
  if want.kind == 'window' then
    local horizon = now - want.window
    local first = redis.call('LINDEX', want.key, 0)
    while first and tonumber(first) <= horizon do
      redis.call('LPOP', want.key)
      first = redis.call('LINDEX', want.key, 0)
    end
    local live = redis.call('LLEN', want.key)
    want.wait = 0
    if live >= want.limit then
      want.wait = tonumber(redis.call('LINDEX', want.key, live - want.limit)) + want.window - now
    end
    want.remaining = math.max(0, want.limit - live)
    want.reset = now
    if live > 0 then want.reset = tonumber(redis.call('LINDEX', want.key, -1)) + want.window end
    return
  end
  local owed = 0
  local kept = redis.call('GET', want.key)
  if kept then
    local full, parts = string.match(kept, '(%d+) (%d+)')
    if tonumber(full) >= now then owed = (tonumber(full) - now) * want.limit + tonumber(parts) end
  end
  local capacity = want.burst * want.window
  if owed > capacity then
    owed = capacity
    keep(want, owed)
  end
  want.owed = owed
  want.wait = math.max(0, math.ceil((owed + want.window - capacity) / want.limit))
  want.remaining = math.max(0, math.floor((capacity - owed) / want.window))
  want.reset = now + math.ceil(owed / want.limit)
end
for i = 1, count do
  local at = 3 + (i - 1) * 6
  local want = {
    key = KEYS[i], kind = ARGV[at], mode = ARGV[at + 1], limit = tonumber(ARGV[at + 2]),
    window = tonumber(ARGV[at + 3]), burst = tonumber(ARGV[at + 4]), listed = ARGV[at + 5]
  }
  seen(want)
  if want.mode == 'enforce' and want.wait > 0 then pass = false end
  wants[i] = want
end
for i, want in ipairs(wants) do
  if spending and pass and want.mode ~= 'off' and want.wait == 0 then
    if want.kind == 'window' then
      redis.call('RPUSH', want.key, string.format('%.0f', now))
      redis.call('PEXPIRE', want.key, want.window + 1000)
    else
      keep(want, want.owed + want.window)
    end
    seen(want)
    want.wait = 0
  end
  if want.listed ~= '' and want.remaining * 2 <= want.burst then
    redis.call('ZADD', KEYS[#KEYS], now, want.listed)
    redis.call('ZREMRANGEBYRANK', KEYS[#KEYS], 0, -1001)
    redis.call('PEXPIRE', KEYS[#KEYS], 86400000)
  end
  answer[#answer + 1] = want.wait
  answer[#answer + 1] = want.remaining
  answer[#answer + 1] = want.reset
end
return answer
`;

/**
 * Notes a target of a subject and says whether it has met too many different ones. The key goes once it has, so that
 * memory stays bounded.
 *
 * Arguments: milliseconds to add to the server's time, the target, the window in milliseconds, how many are too many.
 */
export const targetScript = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[1])
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[3]))
if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[4]) then return 0 end
redis.call('DEL', KEYS[1])
return 1
`;
