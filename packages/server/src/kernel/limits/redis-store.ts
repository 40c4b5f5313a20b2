/** Limits counted in Valkey or Redis: exact over any number of processes. */

import type { Clock } from "../clock.ts";
import type { Secrets } from "../secrets.ts";
import { isUuid } from "../uuid.ts";
import type { CounterReading } from "./arithmetic.ts";
import type { Policies, PolicyName } from "./policies.ts";
import { type RedisConnection, redisScript } from "./redis-connection.ts";
import { limitScript } from "./redis-script.ts";
import { type BusySubject, type LimitCounter, type LimitStore, StoreDown } from "./store.ts";

const script = redisScript(limitScript);
const listScript = redisScript("return redis.call('ZREVRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1)");

/** Apart from whatever else the store is used for. */
const prefix = "emanet:limits";
const busyList = `${prefix}:busy`;

export interface RedisStoreOptions {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly policies: Policies;
  readonly secrets: Secrets;
}

export function createRedisStore({ connection, clock, policies, secrets }: RedisStoreOptions): LimitStore {
  // Addresses and text from a body are personal data: the store gets a keyed hash of them.
  const keyOf = ({ policy, key }: LimitCounter) => {
    const isPersonal = policies[policy].subject !== "account";
    return `${prefix}:${policy}:${isPersonal ? secrets.digest("limit-key", `${policy}\n${key}`).toString("base64url") : key}`;
  };
  return {
    async decide(counters, act) {
      const values = counters.flatMap(({ policy, key, rate, mode }) => {
        const { kind, subject } = policies[policy];
        // Some policies count by account when it is known, else by a hash.
        const listed = subject === "account" && isUuid(key) ? `${policy} ${key}` : "";
        return [kind, mode, String(rate.limit), String(rate.windowMs), String(rate.burst), listed];
      });
      const head = [act === "spend" ? "1" : "0", String(clock.offsetMs?.() ?? 0)];
      const answer = await connection.run(script, [...counters.map(keyOf), busyList], [...head, ...values]);
      return parsed(answer, counters.length);
    },
    async busiest(count) {
      const names = await connection.run(listScript, [busyList], [String(count)]);
      return Array.isArray(names) ? names.flatMap((name) => subjectOf(name, policies)) : [];
    },
    close: () => connection.close(),
  };
}

function parsed(answer: unknown, count: number) {
  const numbers = Array.isArray(answer) ? answer.map(Number) : [];
  if (numbers.length !== 1 + 3 * count || !numbers.every(Number.isFinite)) {
    throw new StoreDown(new TypeError("an answer that the script does not give"));
  }
  const at = (index: number) => numbers[index] ?? 0;
  const readings = Array.from({ length: count }, (_, index): CounterReading => {
    const first = 1 + 3 * index;
    return { retryAfterMs: at(first), remaining: at(first + 1), resetAtMs: at(first + 2) };
  });
  return { nowMs: at(0), readings };
}

function subjectOf(name: unknown, policies: Policies): readonly BusySubject[] {
  const [policy = "", key = ""] = String(name).split(" ");
  return Object.hasOwn(policies, policy) ? [{ policy: policy as PolicyName, key }] : [];
}
