/** What people do about retention, and the upkeep that runs by itself. Each act is repeated until its answer is known. */

import assert from "node:assert/strict";
import type { TestAnswer } from "../../../packages/server/src/testing/https.ts";
import type { Random } from "../../crash/testing/uploads.ts";
import type { HarnessService } from "./harness-service.ts";
import { describe, type Oracle, type Snapshot, waitMs } from "./oracle.ts";

export const acts = [
  "delete",
  "undelete",
  "hold",
  "release",
  "lock",
  "policy",
  "cancel",
  "apply",
  "prune",
  "upkeep",
] as const;
export type Act = (typeof acts)[number];

const hourMs = 3_600_000;
/** Longest lock; longer ones would keep most snapshots of a run. */
const longestLockHours = 40 * 24;
const longestKeepLast = 3;

/** Tasks of the service that the harness enqueues; the service does so too, when they are due. */
const tasks = { apply: "retention.apply", prune: "snapshots.prune_vault", upkeep: "upkeep.run_vault" } as const;

export class Actor {
  readonly #service: HarnessService;
  readonly #oracle: Oracle;
  readonly #random: Random;
  #place: { readonly account_id: string; readonly id: string } | null = null;

  constructor(service: HarnessService, oracle: Oracle, random: Random) {
    this.#service = service;
    this.#oracle = oracle;
    this.#random = random;
  }

  /** Draws what it is about at once, so that the same seed draws the same from the same snapshots. */
  do(act: Act): Promise<void> {
    if (act === "apply" || act === "prune" || act === "upkeep") return this.enqueue(tasks[act]);
    if (act === "cancel") return this.#cancel();
    const one = this.#pick(act);
    if (one === undefined) return Promise.resolve();
    one.isBusy = true;
    return this.#about(act, one).finally(() => {
      one.isBusy = false;
    });
  }

  #about(act: Act, one: Snapshot): Promise<void> {
    if (act === "policy") return this.#policy(one, this.#random.integer(longestKeepLast + 1));
    if (act === "lock") return this.#lock(one, 1 + this.#random.integer(longestLockHours));
    if (act === "hold") return this.#hold(one);
    if (act === "release") return this.#release(one);
    return act === "delete" ? this.#delete(one) : this.undelete(one);
  }

  #pick(act: Act): Snapshot | undefined {
    const there = this.#oracle.snapshots.filter(({ isGone, isBusy }) => !isGone && !isBusy);
    const now = this.#service.latest();
    const fitting = there.filter((one) => {
      if (act === "undelete") return one.deletedAt !== null && now < one.deletedAt + waitMs;
      if (act === "release") return one.deletedAt === null && one.held === "yes";
      return one.deletedAt === null;
    });
    return fitting[this.#random.integer(Math.max(1, fitting.length))];
  }

  async #delete(one: Snapshot): Promise<void> {
    const isKept = one.held === "yes" || one.lockedUntil > this.#service.latest();
    const before = one.deletedAt;
    if (before === null) one.couldExpire = this.#oracle.promiseOf(one) === null;
    one.deletedAt ??= this.#service.now();
    const answer = await this.#ask("DELETE", `/v1/snapshots/${one.id}`);
    if (answer.status === 409) one.deletedAt = before;
    // A hold whose release is due may be over or not.
    const mayGo =
      !isKept ||
      this.#oracle.promiseOf({ ...one, deletedAt: null }) === null ||
      one.releasedFrom <= this.#service.latest();
    assert.ok(answer.status === 409 || mayGo, `${describe(one)} is held or locked, and was deleted`);
    assert.ok([204, 404, 409].includes(answer.status), answer.body.toString());
  }

  /** Within 72 hours of its deletion a snapshot comes back. */
  async undelete(one: Snapshot): Promise<void> {
    const answer = await this.#ask("POST", `/v1/snapshots/${one.id}/undelete`);
    if (answer.status === 200) {
      one.deletedAt = null;
      return;
    }
    assert.equal(answer.status, 404, answer.body.toString());
    // The first of two attempts may have been done, and its answer lost; or a rebuild has brought it back.
    const shown = await this.#ask("GET", `/v1/snapshots/${one.id}`);
    if (shown.status === 200) one.deletedAt = null;
    else {
      const rows = await this.#service.rows("select to_jsonb(s) as row from emanet.snapshots s where id = $1", [
        one.id,
      ]);
      this.#oracle.isAway(one, `it cannot be undeleted (${shown.status} ${shown.body} ${JSON.stringify(rows)})`);
    }
  }

  async #hold(one: Snapshot): Promise<void> {
    const { held, releasedFrom } = one;
    if (held === "no") one.held = "maybe";
    const answer = await this.#ask("PUT", `/v1/snapshots/${one.id}/hold`, { reason: "inceleme" });
    if (answer.status === 200) {
      one.held = "yes";
      one.releasedFrom = Number.POSITIVE_INFINITY;
    } else {
      Object.assign(one, { held, releasedFrom });
      this.#assertGone(one, answer);
    }
  }

  async #release(one: Snapshot): Promise<void> {
    one.releasedFrom = Math.min(one.releasedFrom, this.#service.now() + waitMs);
    const answer = await this.#ask("DELETE", `/v1/snapshots/${one.id}/hold`);
    // An earlier release may be done already.
    assert.ok([202, 404, 409].includes(answer.status), answer.body.toString());
  }

  async #lock(one: Snapshot, hours: number): Promise<void> {
    const until = this.#service.now() + hours * hourMs;
    const json = { locked_until: new Date(until).toISOString() };
    const answer = await this.#ask("PUT", `/v1/snapshots/${one.id}/lock`, json);
    if (answer.status === 200) one.lockedUntil = Math.max(one.lockedUntil, until);
    // A longer lock stays; a clock that was moved past the end is refused.
    else if (![409, 422].includes(answer.status)) this.#assertGone(one, answer);
  }

  async #policy({ sourceId }: Snapshot, keepLast: number): Promise<void> {
    const rule = keepLast === 0 ? null : keepLast;
    const target = `/v1/sources/${sourceId}/retention`;
    this.#oracle.policyAsked(sourceId, rule, this.#service.now());
    const answer = await this.#service.until("a policy is answered", async () => {
      const before = await this.#ask("GET", target);
      if (before.status === 404) return before;
      const headers = { "if-match": String(before.headers.etag) };
      const put = await this.#service.ask("PUT", target, { as: "owner", json: { keep_last: rule }, headers });
      return put?.status === 412 ? null : put;
    });
    assert.ok([200, 202, 404].includes(answer.status), answer.body.toString());
  }

  /** Cancels the first act that waits. The oracle keeps allowing what it would have removed. */
  async #cancel(): Promise<void> {
    const list = await this.#ask("GET", "/v1/pending-acts?state=waiting");
    assert.equal(list.status, 200, list.body.toString());
    const [first] = JSON.parse(list.body.toString()).data as { id: string }[];
    if (first === undefined) return;
    const answer = await this.#ask("POST", `/v1/pending-acts/${first.id}/cancel`);
    assert.ok([200, 404, 409].includes(answer.status), answer.body.toString());
  }

  /** A task of the vault, as soon as a worker is free. */
  async enqueue(task: string): Promise<void> {
    await this.#service.until(`${task} is enqueued`, async () => {
      try {
        this.#place ??= await this.#vault();
        const { account_id: accountId, id } = this.#place;
        const now = new Date(this.#service.now());
        const payload = JSON.stringify({ accountId, vaultId: id });
        await this.#service.rows("select emanet.enqueue_job(gen_random_uuid(), $1, $2, $3, $4, 3, $5, $5)", [
          ...[task, payload, id, `upkeep ${id}`, now],
        ]);
        return true;
      } catch {
        return null;
      }
    });
  }

  async #vault() {
    const { demo } = await this.#service.firstRun();
    const text = "select account_id, id from emanet.vaults where account_id = $1 and kind = 'default'";
    const [vault] = await this.#service.rows<{ account_id: string; id: string }>(text, [demo.account_id]);
    return vault ?? assert.fail("no vault");
  }

  #ask(method: string, target: string, json?: object): Promise<TestAnswer> {
    return this.#service.until(`${method} ${target} is answered`, () => {
      const call = { as: "owner" as const, ...(json !== undefined && { json }) };
      return this.#service.ask(method, target, call);
    });
  }

  /** The service says that it does not have the snapshot, or not any more. */
  #assertGone(one: Snapshot, { status, body }: TestAnswer): void {
    assert.ok([404, 409, 410].includes(status), body.toString());
    if (one.deletedAt === null) this.#oracle.isAway(one, `it is answered with ${status}`);
  }
}
