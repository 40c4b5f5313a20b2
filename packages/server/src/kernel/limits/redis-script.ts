/**
 * The scripts that run in the shared store. They compute what `arithmetic.ts` and `scan-detector.ts` compute in a process;
 * tests compare them.
 */

/**
 * All counters of a request in one round trip, atomically, by the time of the store, so that all processes count together.
 *
 * Arguments: `1` to count the request or `0` to read, milliseconds to add to the server's time (a sandbox whose clock was moved),
 * then for each key `window|bucket`, `enforce|shadow|off`, limit, window in milliseconds, burst, and the name under
 * which it is listed as busy (empty: not listed). The last key is that list.
 * Answer: the time, then for each counter the wait, what remains, and when all requests are available again.
 *
 * A window is a list of moments, oldest first; a bucket is a string, `<full at, ms> <parts of a millisecond>`.
 */
export const limitScript = `
local spending = ARGV[1] == '1'
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[2])
local answer = { now }
local count = #KEYS - 1
local counters = {}
local pass = true
local function keep(counter, owed)
  local full = now + math.floor(owed / counter.limit)
  redis.call('SET', counter.key, string.format('%.0f %.0f', full, owed % counter.limit), 'PX', full - now + 1000)
end
local function seen(counter)
  if counter.kind == 'window' then
    local horizon = now - counter.window
    local first = redis.call('LINDEX', counter.key, 0)
    while first and tonumber(first) <= horizon do
      redis.call('LPOP', counter.key)
      first = redis.call('LINDEX', counter.key, 0)
    end
    local live = redis.call('LLEN', counter.key)
    counter.wait = 0
    if live >= counter.limit then
      counter.wait = tonumber(redis.call('LINDEX', counter.key, live - counter.limit)) + counter.window - now
    end
    counter.remaining = math.max(0, counter.limit - live)
    counter.reset = now
    if live > 0 then counter.reset = tonumber(redis.call('LINDEX', counter.key, -1)) + counter.window end
    return
  end
  local owed = 0
  local kept = redis.call('GET', counter.key)
  if kept then
    local full, parts = string.match(kept, '(%d+) (%d+)')
    if tonumber(full) >= now then owed = (tonumber(full) - now) * counter.limit + tonumber(parts) end
  end
  local capacity = counter.burst * counter.window
  if owed > capacity then
    owed = capacity
    keep(counter, owed)
  end
  counter.owed = owed
  counter.wait = math.max(0, math.ceil((owed + counter.window - capacity) / counter.limit))
  counter.remaining = math.max(0, math.floor((capacity - owed) / counter.window))
  counter.reset = now + math.ceil(owed / counter.limit)
end
for i = 1, count do
  local at = 3 + (i - 1) * 6
  local counter = {
    key = KEYS[i], kind = ARGV[at], mode = ARGV[at + 1], limit = tonumber(ARGV[at + 2]),
    window = tonumber(ARGV[at + 3]), burst = tonumber(ARGV[at + 4]), listed = ARGV[at + 5]
  }
  seen(counter)
  if counter.mode == 'enforce' and counter.wait > 0 then pass = false end
  counters[i] = counter
end
for i, counter in ipairs(counters) do
  if spending and pass and counter.mode ~= 'off' and counter.wait == 0 then
    if counter.kind == 'window' then
      redis.call('RPUSH', counter.key, string.format('%.0f', now))
      redis.call('PEXPIRE', counter.key, counter.window + 1000)
    else
      keep(counter, counter.owed + counter.window)
    end
    seen(counter)
    counter.wait = 0
  end
  if counter.listed ~= '' and counter.remaining * 2 <= counter.burst then
    redis.call('ZADD', KEYS[#KEYS], now, counter.listed)
    redis.call('ZREMRANGEBYRANK', KEYS[#KEYS], 0, -1001)
    redis.call('PEXPIRE', KEYS[#KEYS], 86400000)
  end
  answer[#answer + 1] = counter.wait
  answer[#answer + 1] = counter.remaining
  answer[#answer + 1] = counter.reset
end
return answer
`;

/**
 * Adds a target of a subject and says whether the subject has too many different ones. Then the key is deleted, so that
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
