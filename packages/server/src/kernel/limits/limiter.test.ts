import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { policies } from "../../declarations.ts";
import { testClock } from "../../testing/clock.ts";
import { scaled } from "../../testing/scale.ts";
import { seededRandom } from "../../testing/seeded-random.ts";
import { addRateHeaders, refusalOf } from "./headers.ts";
import { createLimiter, type LimitedAccount, type LimiterOptions, type LimitStatus } from "./limiter.ts";
import { createMemoryStore } from "./memory-store.ts";
import type { PolicyName } from "./policies.ts";
import { type LimitStore, StoreDown } from "./store.ts";

function rateHeaders(statuses: readonly LimitStatus[]): Record<string, unknown> {
  const head: Record<string, unknown> = {};
  addRateHeaders(head, statuses);
  return head;
}

const packages = {
  starter: { limit: 60, windowMs: 60_000, burst: 100 },
  professional: { limit: 300, windowMs: 60_000, burst: 500 },
  accountant: { limit: 600, windowMs: 60_000, burst: 1000 },
  corporate: { limit: 1500, windowMs: 60_000, burst: 3000 },
} as const;

function accountWith(more: Partial<NonNullable<LimitedAccount>> = {}): NonNullable<LimitedAccount> {
  return { earlyAccess: false, limits: { package: packages.starter, custom: {} }, ...more };
}

function limiterWith(more: Partial<LimiterOptions> = {}) {
  const clock = testClock();
  const counted: string[] = [];
  const metrics = {
    limitDecided: (policy: string, outcome: string) => void counted.push(`${policy} ${outcome}`),
    limitFellBack: (how: string) => void counted.push(`fell back: ${how}`),
  };
  const limiter = createLimiter({
    policies,
    local: createMemoryStore({ clock, policies }),
    plannedMode: "enforce",
    metrics,
    ...more,
  });
  return { clock, limiter, counted };
}

describe("a client that does what the answers say", () => {
  for (const [name, rate] of Object.entries(packages)) {
    test(`${name}: 10 000 requests by Remaining and Retry-After meet no avoidable 429`, async () => {
      const { clock, limiter } = limiterWith();
      const account = accountWith({ limits: { package: rate, custom: {} } });
      const random = seededRandom(7);
      let refusals = 0;
      for (let sent = 0; sent < 10_000; sent++) {
        clock.advance(random.integer(60));
        const outcome = await limiter.spend([limiter.counterFor("package", "a", account)]);
        if (refusalOf(outcome) !== null) refusals++;
        const headers = rateHeaders(outcome.statuses);
        if (headers["x-ratelimit-remaining"] !== "0") continue;
        clock.advance(Number(headers["x-ratelimit-reset"]) * 1000 - clock.now().getTime());
      }
      assert.equal(refusals, 0);
    });

    test(`${name}: a caller that waits for Retry-After is never refused twice in a row`, async () => {
      const { clock, limiter } = limiterWith();
      const account = accountWith({ limits: { package: rate, custom: {} } });
      const random = seededRandom(8);
      let refused = 0;
      for (let sent = 0; sent < scaled(10_000, 100_000); sent++) {
        if (random.integer(20) === 0) clock.advance(random.integer(100));
        const counters = (["package", "snapshots_create", "snapshots_create_hour"] as const)
          .slice(0, 1 + (sent % 3))
          .map((policy) => limiter.counterFor(policy, "a", account));
        const problem = refusalOf(await limiter.spend(counters));
        if (problem === null) continue;
        refused++;
        clock.advance(Number(problem.extras.headers?.["Retry-After"]) * 1000);
        assert.equal(refusalOf(await limiter.spend(counters)), null);
      }
      assert.ok(refused > 10, "the limit was never met");
    });
  }
});

describe("modes", () => {
  const planned: readonly PolicyName[] = [
    "package",
    "snapshots_create_hour",
    "snapshots_verify",
    "restore_create",
    "audit_export",
    "token",
  ];

  test("in force and anonymous limits hold whatever the switch says; the planned ones do what it says", () => {
    for (const plannedMode of ["off", "shadow", "enforce"] as const) {
      const { limiter } = limiterWith({ plannedMode });
      for (const policy of Object.keys(policies) as PolicyName[]) {
        const expected = planned.includes(policy) ? plannedMode : "enforce";
        assert.equal(limiter.counterFor(policy, "a", accountWith()).mode, expected, `${policy} at ${plannedMode}`);
      }
    }
  });

  test("early access is watched and never refused by planned limits, and held to those in force", async () => {
    const { limiter, counted } = limiterWith();
    const account = accountWith({ earlyAccess: true });
    const ask = async (policy: PolicyName) => limiter.spend([limiter.counterFor(policy, "a", account)]);
    for (let sent = 0; sent < 10; sent++) assert.equal((await ask("restore_create")).refused, null);
    assert.equal((await ask("restore_create")).refused, null);
    assert.equal(counted.filter((word) => word === "restore_create shadow_denied").length, 1);
    for (let sent = 0; sent < 10; sent++) assert.equal((await ask("snapshots_create")).refused, null);
    assert.equal((await ask("snapshots_create")).refused, "limited");
    assert.equal(counted.at(-1), "snapshots_create denied");
  });

  test("an account's own rate replaces the stated one, also of limits in force", async () => {
    const { limiter } = limiterWith();
    const custom = { snapshots_create: { limit: 2, windowMs: 1000, burst: 2 }, package: packages.corporate };
    const account = accountWith({ limits: { package: packages.starter, custom } });
    assert.equal(limiter.counterFor("snapshots_create", "a", account).rate.limit, 2);
    assert.equal(limiter.counterFor("package", "a", account).rate.burst, 3000);
    assert.equal(limiter.counterFor("package", "b", accountWith()).rate.burst, 100);
  });
});

describe("rate headers", () => {
  test("tell of the limit with least left, and of all in the IETF's form; watching ones only when alone", async () => {
    const { limiter } = limiterWith();
    const account = accountWith();
    const both = await limiter.spend([
      limiter.counterFor("snapshots_create", "a", account),
      limiter.counterFor("package", "a", account),
    ]);
    const headers = rateHeaders(both.statuses);
    assert.equal(headers["x-ratelimit-limit"], "10");
    assert.equal(headers["x-ratelimit-remaining"], "9");
    assert.equal(headers["ratelimit-policy"], '"snapshots_create";q=10;w=60, "package";q=100;w=100');
    assert.equal(headers.ratelimit, '"snapshots_create";r=9;t=60, "package";r=99;t=1');
    const early = accountWith({ earlyAccess: true });
    const watched = await limiter.spend([
      limiter.counterFor("snapshots_create", "b", early),
      limiter.counterFor("package", "b", early),
    ]);
    assert.equal(rateHeaders(watched.statuses)["ratelimit-policy"], '"snapshots_create";q=10;w=60');
    const alone = await limiter.spend([limiter.counterFor("package", "b", early)]);
    assert.equal(rateHeaders(alone.statuses)["x-ratelimit-limit"], "100");
    const off = limiterWith({ plannedMode: "off" }).limiter;
    const shown = await off.spend([off.counterFor("package", "b", account)]);
    assert.equal(rateHeaders(shown.statuses)["x-ratelimit-remaining"], "100");
  });
});

describe("while the shared store does not answer", () => {
  const away: LimitStore = {
    decide: async () => {
      throw new StoreDown(null);
    },
    busiest: async () => {
      throw new StoreDown(null);
    },
    close: async () => undefined,
  };

  test("sign-in, messages, applications and tokens are refused with 503; the rest is counted by the process", async () => {
    const { limiter, counted } = limiterWith({ shared: away });
    const closed: readonly PolicyName[] = ["login", "login_ip", "sms_minute", "sms_hour", "applications", "token"];
    for (const policy of Object.keys(policies) as PolicyName[]) {
      const outcome = await limiter.spend([limiter.counterFor(policy, "a", accountWith())]);
      assert.equal(outcome.refused, closed.includes(policy) ? "store_down" : null, policy);
      assert.equal(outcome.statuses.length, 1);
      assert.equal(counted.includes("fell back: refused"), true);
    }
    const problem = refusalOf(await limiter.spend([limiter.counterFor("login_ip", "a", null)]));
    assert.equal(problem?.code, "unavailable");
    assert.equal(problem?.extras.headers?.["Retry-After"], "5");
    for (let sent = 1; sent < 10; sent++)
      await limiter.spend([limiter.counterFor("snapshots_create", "a", accountWith())]);
    const over = await limiter.spend([limiter.counterFor("snapshots_create", "a", accountWith())]);
    assert.equal(over.refused, "limited");
  });
});
