import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { policies } from "../../declarations.ts";
import { testClock } from "../../testing/clock.ts";
import { needs } from "../../testing/needs.ts";
import { connected, startRedis } from "../../testing/redis.ts";
import { scaled } from "../../testing/scale.ts";
import { systemRandom } from "../clock.ts";
import { createSecrets } from "../secrets.ts";
import { createMemoryStore, maxSubjectsPerPolicy } from "./memory-store.ts";
import type { PolicyName, Rate } from "./policies.ts";
import { type RedisConnection, redisScript } from "./redis-connection.ts";
import { createRedisStore } from "./redis-store.ts";
import type { Decision, LimitCounter, LimitStore } from "./store.ts";

const runs = scaled(200, 20_000);

/** Rates that an operator could set, also those whose interval is no whole number of milliseconds. */
const rate = fc
  .record({ limit: fc.integer({ min: 1, max: 40 }), seconds: fc.integer({ min: 1, max: 120 }), more: fc.nat(60) })
  .map(({ limit, seconds, more }): Rate => ({ limit, windowMs: seconds * 1000, burst: limit + more }));

/** Pauses between requests: none, a few milliseconds, about a window. */
const pauses = fc.array(
  fc.oneof(fc.constantFrom(0, 0, 1_000, 10_000), fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 70_000 })),
  { minLength: 1, maxLength: 120 },
);

function counter(policy: PolicyName, more: Partial<LimitCounter> = {}): LimitCounter {
  return { policy, key: "a", rate: policies[policy].rate, mode: "enforce", ...more };
}

function now(decision: Decision | Promise<Decision>): Decision {
  assert.ok(!(decision instanceof Promise));
  return decision;
}

function isAllowed(store: LimitStore, wanted: LimitCounter): boolean {
  return now(store.decide([wanted], "spend")).readings[0]?.retryAfterMs === 0;
}

describe("a sliding window", () => {
  test("lets the limit through and not one more, wherever the window is placed", () => {
    fc.assert(
      fc.property(rate, pauses, (set, waits) => {
        const clock = testClock();
        const store = createMemoryStore({ clock, policies });
        const admitted: number[] = [];
        for (const wait of waits) {
          clock.advance(wait);
          const at = clock.now().getTime();
          const inWindow = admitted.filter((moment) => moment > at - set.windowMs).length;
          const { readings } = now(store.decide([counter("applications", { rate: set })], "spend"));
          assert.equal(readings[0]?.retryAfterMs === 0, inWindow < set.limit);
          if (readings[0]?.retryAfterMs === 0) admitted.push(at);
          assert.equal(readings[0]?.remaining, set.limit - Math.min(inWindow + 1, set.limit));
        }
      }),
      { seed: 1, numRuns: runs },
    );
  });

  for (const [name, policy] of Object.entries(policies)) {
    if (policy.kind !== "window") continue;
    test(`${name}: ${policy.rate.limit} pass and the next is refused, in any placement of the stated window`, () => {
      const gaps = fc.array(fc.integer({ min: 0, max: Math.ceil((policy.rate.windowMs * 3) / policy.rate.limit) }), {
        minLength: policy.rate.limit + 1,
        maxLength: policy.rate.limit * 3,
      });
      fc.assert(
        fc.property(gaps, (waits) => {
          const clock = testClock();
          const store = createMemoryStore({ clock, policies });
          const admitted: number[] = [];
          for (const wait of waits) {
            clock.advance(wait);
            const at = clock.now().getTime();
            const inWindow = admitted.filter((moment) => moment > at - policy.rate.windowMs).length;
            const allowed = isAllowed(store, counter(name as PolicyName));
            assert.equal(allowed, inWindow < policy.rate.limit);
            if (allowed) admitted.push(at);
          }
        }),
        { seed: 2, numRuns: scaled(50, 5_000) },
      );
    });
  }
});

/** The bucket in whole numbers: a token is `windowMs` units, and each millisecond brings `limit` of them. */
class ExactBucket {
  readonly #rate: Rate;
  #units: bigint;
  #at: number;

  constructor(set: Rate, at: number) {
    this.#rate = set;
    this.#units = BigInt(set.burst) * BigInt(set.windowMs);
    this.#at = at;
  }

  spend(at: number): { allowed: boolean; remaining: number } {
    const full = BigInt(this.#rate.burst) * BigInt(this.#rate.windowMs);
    const token = BigInt(this.#rate.windowMs);
    const grown = this.#units + BigInt(at - this.#at) * BigInt(this.#rate.limit);
    this.#units = grown > full ? full : grown;
    this.#at = at;
    const allowed = this.#units >= token;
    if (allowed) this.#units -= token;
    return { allowed, remaining: Number(this.#units / token) };
  }
}

describe("a token bucket", () => {
  test("admits exactly what the arithmetic says: never one too many, never one too few", () => {
    fc.assert(
      fc.property(rate, pauses, (set, waits) => {
        const clock = testClock();
        const store = createMemoryStore({ clock, policies });
        const exact = new ExactBucket(set, clock.now().getTime());
        for (const wait of waits) {
          clock.advance(wait);
          const expected = exact.spend(clock.now().getTime());
          const { readings } = now(store.decide([counter("anonymous", { rate: set })], "spend"));
          assert.deepEqual({ allowed: readings[0]?.retryAfterMs === 0, remaining: readings[0]?.remaining }, expected);
        }
      }),
      { seed: 3, numRuns: runs },
    );
  });

  test("stays exact over a long time without a pause, also when a token takes a fraction of a millisecond", () => {
    const set = { limit: 100_000, windowMs: 60_000, burst: 100_000 };
    const clock = testClock();
    const store = createMemoryStore({ clock, policies });
    const exact = new ExactBucket(set, clock.now().getTime());
    for (let request = 0; request < 60_000; request++) {
      if (request % 3 === 0) clock.advance(1);
      const { allowed, remaining } = exact.spend(clock.now().getTime());
      const { readings } = now(store.decide([counter("anonymous", { rate: set })], "spend"));
      if (allowed === (readings[0]?.retryAfterMs === 0) && remaining === readings[0]?.remaining) continue;
      assert.fail(`request ${request}: ${JSON.stringify(readings[0])}, not ${JSON.stringify({ allowed, remaining })}`);
    }
  });
});

test("a bucket whose rate was raised is at most empty, whatever the old rate still owed", () => {
  const clock = testClock();
  const store = createMemoryStore({ clock, policies });
  const slow = counter("package", { rate: { limit: 10, windowMs: 86_400_000, burst: 20 } });
  for (let count = 0; count < 20; count++) assert.ok(isAllowed(store, slow));
  const usual = counter("package");
  assert.ok(!isAllowed(store, usual));
  clock.advance(40);
  assert.ok(isAllowed(store, usual));
});

describe("the process's own store", () => {
  test("a refusal by one spends nothing from the others, and looking spends nothing at all", () => {
    const store = createMemoryStore({ clock: testClock(), policies });
    const narrow = counter("applications", { rate: { limit: 1, windowMs: 60_000, burst: 1 } });
    const both = [narrow, counter("anonymous")];
    const remaining = () => now(store.decide(both, "peek")).readings.map((look) => look.remaining);
    assert.deepEqual(remaining(), [1, 600]);
    void store.decide(both, "spend");
    assert.deepEqual(remaining(), [0, 599]);
    void store.decide(both, "spend");
    assert.deepEqual(remaining(), [0, 599]);
  });

  test("a limit that only watches refuses no request and does not count what it would refuse; one that is off counts nothing", () => {
    const store = createMemoryStore({ clock: testClock(), policies });
    const narrow = { rate: { limit: 1, windowMs: 60_000, burst: 1 } };
    const counters = [
      counter("token", { ...narrow, mode: "shadow" }),
      counter("restore_create", { mode: "off" }),
      counter("package"),
    ];
    void store.decide(counters, "spend");
    const { readings } = now(store.decide(counters, "spend"));
    assert.deepEqual(
      readings.map((look) => look.remaining),
      [0, 10, 2998],
    );
    assert.ok((readings[0]?.retryAfterMs ?? 0) > 0);
  });

  test("forgets the least recently used subjects, policy by policy: a flood of addresses forgets no customer", () => {
    const clock = testClock();
    const store = createMemoryStore({ clock, policies });
    void store.decide([counter("snapshots_create", { key: "customer" })], "spend");
    for (let n = 0; n < maxSubjectsPerPolicy * 2; n++)
      void store.decide([counter("anonymous", { key: `address ${n}` })], "spend");
    const readings = (policy: PolicyName, key: string) =>
      now(store.decide([counter(policy, { key })], "peek")).readings[0]?.remaining;
    assert.equal(readings("snapshots_create", "customer"), 9);
    assert.equal(readings("anonymous", `address ${maxSubjectsPerPolicy * 2 - 1}`), 599);
    assert.equal(readings("anonymous", "address 0"), 600);
  });
});

/** Scripts by a clock of the test's own in place of the server's. */
function atClock(connection: RedisConnection, clock: { now(): Date }): RedisConnection {
  const local = /^local now = .*$/m;
  return {
    ...connection,
    run: (script, keys, values) =>
      connection.run(redisScript(script.text.replace(local, `local now = ${clock.now().getTime()}`)), keys, values),
  };
}

describe("the shared store", () => {
  test("says what the process's own says, to the millisecond, for any mixture of limits", async (t) => {
    const command = needs(t, "redis");
    if (command === undefined) return;
    const redis = await startRedis({ after }, command);
    const connection = await connected({ after }, redis);
    const secrets = createSecrets(Buffer.alloc(32, 3), systemRandom);
    let round = 0;
    const steps = fc.array(
      fc.record({
        wait: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_000 })),
        act: fc.constantFrom("spend", "spend", "spend", "peek"),
        other: fc.boolean(),
        modes: fc.array(fc.constantFrom("enforce", "enforce", "shadow", "off"), { minLength: 3, maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 40 },
    );
    const small = fc
      .record({ limit: fc.integer({ min: 1, max: 9 }), seconds: fc.integer({ min: 1, max: 20 }), more: fc.nat(9) })
      .map(({ limit, seconds, more }): Rate => ({ limit, windowMs: seconds * 1000, burst: limit + more }));
    await fc.assert(
      fc.asyncProperty(small, small, small, steps, async (first, second, third, list) => {
        round++;
        // Around the server's own time: it forgets what has passed by its clock.
        const clock = testClock(new Date().toISOString());
        const shared = createRedisStore({ connection: atClock(connection, clock), clock, policies, secrets });
        const local = createMemoryStore({ clock, policies });
        for (const { wait, act, modes, other } of list) {
          clock.advance(wait);
          const key = `00000000-0000-7000-8000-${String(round).padStart(12, "0")}`;
          const counters = [
            counter("login_ip", { key, rate: first, mode: modes[0] ?? "off" }),
            counter("package", { key, rate: other ? third : second, mode: modes[1] ?? "off" }),
            counter("snapshots_create", { key, rate: third, mode: modes[2] ?? "off" }),
          ];
          assert.deepEqual(await shared.decide(counters, act as "spend"), local.decide(counters, act as "spend"));
        }
      }),
      { seed: 4, numRuns: scaled(60, 5_000) },
    );
    const busiest = await createRedisStore({ connection, clock: testClock(), policies, secrets }).busiest(10);
    assert.ok(busiest.length > 0 && busiest.every(({ policy }) => policies[policy].subject === "account"));
  });
});
