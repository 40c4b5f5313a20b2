import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { testClock } from "../testing/clock.ts";
import { scaled } from "../testing/scale.ts";
import { createLimiter, type Limiter, type PolicyName, policies, type Verdict } from "./limits.ts";

const runs = scaled(300, 20_000);

/** Rates as an operator could set them: also those whose interval is no whole number of milliseconds. */
const rate = fc.record({ count: fc.integer({ min: 1, max: 40 }), seconds: fc.integer({ min: 1, max: 120 }) });

/** Pauses between requests: none, a few milliseconds, about a window. */
const pauses = fc.array(
  fc.oneof(fc.constantFrom(0, 0, 1_000, 10_000), fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 70_000 })),
  {
    minLength: 1,
    maxLength: 120,
  },
);

function one(limiter: Limiter, policy: PolicyName, key = "a"): Verdict {
  const [verdict] = limiter.spend([{ policy, key }]);
  assert.ok(verdict);
  return verdict;
}

describe("a sliding window", () => {
  test("lets the count through and not one more, wherever the window is placed", () => {
    fc.assert(
      fc.property(rate, pauses, (applications, waits) => {
        const clock = testClock();
        const limiter = createLimiter(clock, { applications });
        const admitted: number[] = [];
        for (const wait of waits) {
          clock.advance(wait);
          const now = clock.now().getTime();
          const inWindow = admitted.filter((moment) => moment > now - applications.seconds * 1000).length;
          const verdict = one(limiter, "applications");
          assert.equal(verdict.retryAfterSeconds === 0, inWindow < applications.count);
          if (verdict.retryAfterSeconds === 0) admitted.push(now);
          assert.equal(verdict.remaining, applications.count - Math.min(inWindow + 1, applications.count));
        }
      }),
      { seed: 1, numRuns: runs },
    );
  });

  test("is whole again at X-RateLimit-Reset, and not a second before", () => {
    const clock = testClock();
    const limiter = createLimiter(clock);
    const last = Array.from({ length: 5 }, () => one(limiter, "applications")).at(-1);
    const resetMs = (last?.resetAt ?? 0) * 1000;
    clock.advance(resetMs - clock.now().getTime() - 1);
    assert.ok(one(limiter, "applications").retryAfterSeconds > 0);
    clock.advance(1);
    assert.equal(one(limiter, "applications").remaining, 4);
  });
});

/** The bucket in whole numbers: a token is `seconds * 1000` units, and each millisecond brings `count` of them. */
class ExactBucket {
  readonly #token: bigint;
  readonly #full: bigint;
  readonly #count: bigint;
  #units: bigint;
  #at: number;

  constructor({ count, seconds }: { count: number; seconds: number }, now: number) {
    this.#count = BigInt(count);
    this.#token = BigInt(seconds * 1000);
    this.#full = this.#token * this.#count;
    this.#units = this.#full;
    this.#at = now;
  }

  spend(now: number): { allowed: boolean; remaining: number } {
    const grown = this.#units + BigInt(now - this.#at) * this.#count;
    this.#units = grown > this.#full ? this.#full : grown;
    this.#at = now;
    const allowed = this.#units >= this.#token;
    if (allowed) this.#units -= this.#token;
    return { allowed, remaining: Number(this.#units / this.#token) };
  }
}

describe("a token bucket", () => {
  test("admits exactly what the arithmetic says: never one too many, never one too few", () => {
    fc.assert(
      fc.property(rate, pauses, (anonymous, waits) => {
        const clock = testClock();
        const limiter = createLimiter(clock, { anonymous });
        const exact = new ExactBucket(anonymous, clock.now().getTime());
        for (const wait of waits) {
          clock.advance(wait);
          const { allowed, remaining } = exact.spend(clock.now().getTime());
          const verdict = one(limiter, "anonymous");
          assert.deepEqual([verdict.retryAfterSeconds === 0, verdict.remaining], [allowed, remaining]);
        }
      }),
      { seed: 2, numRuns: runs },
    );
  });

  test("stays exact over a long time without a pause, also when a token takes a fraction of a millisecond", () => {
    const anonymous = { count: 100_000, seconds: 60 };
    const clock = testClock();
    const limiter = createLimiter(clock, { anonymous });
    const exact = new ExactBucket(anonymous, clock.now().getTime());
    for (let request = 0; request < 60_000; request++) {
      if (request % 3 === 0) clock.advance(1);
      const { allowed, remaining } = exact.spend(clock.now().getTime());
      const verdict = one(limiter, "anonymous");
      if (allowed === (verdict.retryAfterSeconds === 0) && remaining === verdict.remaining) continue;
      assert.fail(`request ${request}: ${JSON.stringify(verdict)}, not ${JSON.stringify({ allowed, remaining })}`);
    }
  });
});

describe("several policies at once", () => {
  const both = [
    { policy: "applications", key: "a" },
    { policy: "anonymous", key: "a" },
  ] as const;

  test("a refusal by one spends nothing from the others", () => {
    const clock = testClock();
    const limiter = createLimiter(clock, { applications: { count: 1, seconds: 60 } });
    limiter.spend(both);
    for (let again = 0; again < 50; again++) limiter.spend(both);
    assert.equal(one(limiter, "anonymous").remaining, policies.anonymous.count - 2);
  });

  test("waiting for the longest Retry-After of those that refuse is never followed by a refusal", () => {
    fc.assert(
      fc.property(rate, rate, pauses, (applications, anonymous, waits) => {
        const clock = testClock();
        const limiter = createLimiter(clock, { applications, anonymous });
        for (const wait of waits) {
          clock.advance(wait);
          const refusals = limiter.spend(both).map((verdict) => verdict.retryAfterSeconds);
          const longest = Math.max(...refusals);
          if (longest === 0) continue;
          clock.advance(longest * 1000);
          assert.deepEqual(
            limiter.spend(both).map((verdict) => verdict.retryAfterSeconds),
            [0, 0],
          );
        }
      }),
      { seed: 3, numRuns: runs },
    );
  });

  test("a Retry-After is no longer than it must be: one second less is refused", () => {
    fc.assert(
      fc.property(rate, fc.integer({ min: 0, max: 5_000 }), (applications, wait) => {
        const clock = testClock();
        const limiter = createLimiter(clock, { applications });
        for (let request = 0; request < applications.count; request++) one(limiter, "applications");
        clock.advance(wait);
        const { retryAfterSeconds } = one(limiter, "applications");
        if (retryAfterSeconds < 2) return;
        clock.advance((retryAfterSeconds - 1) * 1000);
        assert.ok(one(limiter, "applications").retryAfterSeconds > 0);
      }),
      { seed: 4, numRuns: runs },
    );
  });
});

test("keys and policies do not share: what one spends, another still has", () => {
  const limiter = createLimiter(testClock());
  for (let request = 0; request < 6; request++) one(limiter, "applications", "a");
  assert.equal(one(limiter, "applications", "b").remaining, 4);
  assert.equal(one(limiter, "anonymous", "a").remaining, policies.anonymous.count - 1);
});

test("memory is bounded: beyond 200 000 keys the one unused for longest is forgotten, one in use is not", () => {
  const limiter = createLimiter(testClock());
  one(limiter, "applications", "idle");
  one(limiter, "applications", "busy");
  for (let key = 0; key < 110_000; key++) one(limiter, "anonymous", `first-${key}`);
  one(limiter, "applications", "busy");
  for (let key = 0; key < 95_000; key++) one(limiter, "anonymous", `second-${key}`);
  assert.equal(one(limiter, "applications", "idle").remaining, 4, "forgotten, so whole again");
  assert.equal(one(limiter, "applications", "busy").remaining, 2);
});

test("the policies in force are those of the contract", () => {
  assert.deepEqual(policies.applications, { kind: "window", count: 5, seconds: 3600 });
  const { kind, count, seconds } = policies.anonymous;
  assert.deepEqual([kind, count, (count / seconds) * 60], ["bucket", 600, 300]);
});
