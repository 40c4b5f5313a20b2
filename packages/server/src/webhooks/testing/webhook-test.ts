/** A service with a receiver, an account and its webhook, for tests of deliveries. */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Bearer, tokenFor } from "../../testing/accounts.ts";
import { inReverse } from "../../testing/cleanup.ts";
import { testClock } from "../../testing/clock.ts";
import type { Cleanup } from "../../testing/database.ts";
import { storedRows } from "../../testing/rows.ts";
import { type Sent, startTestService, type TestService, type TestServiceOptions } from "../../testing/running.ts";
import { emitEvents } from "./emit-events.ts";
import { type Receiver, receiverSettings, startReceiver } from "./receiver.ts";

type Json = Readonly<Record<string, unknown>>;

export interface MadeWebhook {
  readonly id: string;
  readonly secret: string;
  readonly url: string;
}

export interface Account {
  readonly accountId: string;
  readonly call: (
    method: string,
    path: string,
    json?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Sent>;
  /** Makes a webhook; by default for all events, at the receiver. */
  readonly webhook: (more?: Json) => Promise<MadeWebhook>;
  readonly emit: (count: number, more?: Parameters<typeof emitEvents>[3]) => Promise<void>;
  /** The deliveries of a webhook, in the order of the stream. */
  readonly deliveries: (id: string, query?: string) => Promise<readonly Delivery[]>;
}

export interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly sequence: number;
  readonly kind: string;
  readonly event_id: string;
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  readonly last_attempt: {
    readonly status: number | null;
    readonly error: string | null;
    readonly is_manual: boolean;
  } | null;
}

export interface WebhookTest {
  readonly service: TestService;
  readonly receiver: Receiver;
  /** A client with every scope, of a new account or of the given one. */
  account(more?: Bearer): Promise<Account>;
  /** For the next test of a file: nothing of the tests before is sent any more, and the receiver has seen nothing. */
  reset(): Promise<void>;
  /** Waits until the condition holds, for a long time. */
  until<T>(look: () => Promise<T | null | false | undefined>): Promise<T>;
}

/** Tokens live for 15 minutes of the test's clock. */
const tokenAgeMs = 10 * 60_000;
const patienceMs = 60_000;
const lookMs = 20;

export interface WebhookTestOptions extends TestServiceOptions {
  /** The clock begins now, for receivers that compare the times of signatures with theirs. */
  readonly isRealTime?: boolean;
}

export async function webhookTest(outer: Cleanup, options: WebhookTestOptions = {}): Promise<WebhookTest> {
  const cleanup = inReverse(outer);
  const receiver = await startReceiver(cleanup, ["hooks.example.com"]);
  const settings = { ...receiverSettings(receiver), ...options.settings };
  const clock = options.isRealTime === true ? { clock: testClock(new Date().toISOString()) } : {};
  const service = await startTestService(cleanup, { ...options, ...clock, settings });
  return {
    service,
    receiver,
    async account(more = {}) {
      const wanted = { as: "client", kind: "api", ...more } as const;
      let bearer = await tokenFor(service, wanted);
      let issuedAt = service.clock.now().getTime();
      const { accountId, clientId } = bearer;
      assert.ok(accountId);
      const call: Account["call"] = async (method, target, json, headers) => {
        if (service.clock.now().getTime() - issuedAt > tokenAgeMs && clientId !== null) {
          bearer = await tokenFor(service, { ...wanted, accountId, clientId });
          issuedAt = service.clock.now().getTime();
        }
        return service.send(method, target, {
          ...(json !== undefined && { json }),
          headers: { ...bearer.auth, ...headers },
        });
      };
      return {
        accountId,
        call,
        async webhook(body = {}) {
          const made = await call("POST", "/v1/webhooks", { url: `${receiver.url}/hook`, events: ["*"], ...body });
          assert.equal(made.status, 201, made.body.toString());
          return made.json as unknown as MadeWebhook;
        },
        emit: (count, place) => emitEvents(service, accountId, count, place),
        async deliveries(id, query = "") {
          const answer = await call("GET", `/v1/webhooks/${id}/deliveries?sort=created_at&limit=100${query}`);
          assert.equal(answer.status, 200, answer.body.toString());
          return (answer.json as unknown as { data: Delivery[] }).data.toSorted((a, b) => a.sequence - b.sequence);
        },
      };
    },
    async reset() {
      await storedRows(service.database, "update emanet.webhooks set removed_at = created_at");
      await storedRows(service.database, "update emanet.webhook_queues set due_at = null");
      receiver.answer = () => 200;
      receiver.requests.length = 0;
    },
    async until(look) {
      for (let waited = 0; waited < patienceMs; waited += lookMs) {
        const found = await look();
        if (found !== null && found !== false && found !== undefined) return found;
        await delay(lookMs);
      }
      assert.fail("it did not happen");
    },
  };
}
