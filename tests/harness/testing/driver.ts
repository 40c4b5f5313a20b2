/** Runs a plan: in each round clients work, a fault strikes and ends, everybody finishes, and promises are checked. */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";
import type { FaultyGateway } from "../../../packages/storage/src/testing/faulty-gateway.ts";
import { findLeftovers, nothingLeft } from "../../crash/testing/leftovers.ts";
import { passTime } from "../../crash/testing/upload-rounds.ts";
import type { Random } from "../../crash/testing/uploads.ts";
import { Actor } from "./acts.ts";
import { Faults } from "./faults.ts";
import type { HarnessService } from "./harness-service.ts";
import { describe, Oracle, type Snapshot } from "./oracle.ts";
import type { Round } from "./plan.ts";
import { Reader, type Way, ways } from "./reads.ts";
import { type OpenUpload, Uploader, type UploadKind } from "./uploads.ts";

export interface DriverParts {
  readonly cleanup: Cleanup;
  readonly service: HarnessService;
  readonly gateway: FaultyGateway | null;
  readonly random: Random;
  /** For what is drawn as often as bytes come. */
  readonly perPiece: Random;
  readonly folder: string;
  readonly fileBytes: number;
  readonly log: (line: string) => void;
}

/** Uploads that stay open over rounds, at most. */
const openAtOnce = 2;
const endedKeptMs = 15 * 24 * 3_600_000;
/** Of the snapshots that a round does not touch. */
const checksPerRound = 1;

export class Driver {
  readonly #parts: DriverParts;
  readonly #oracle: Oracle;
  readonly #reader: Reader;
  readonly #uploader: Uploader;
  readonly #actor: Actor;
  readonly #faults: Faults;
  readonly #open: OpenUpload[] = [];
  #checked = 0;

  private constructor(parts: DriverParts, uploader: (oracle: Oracle) => Uploader) {
    const { service, random, gateway } = parts;
    this.#parts = parts;
    this.#oracle = new Oracle(() => service.latest());
    this.#reader = new Reader(service, random);
    this.#uploader = uploader(this.#oracle);
    this.#actor = new Actor(service, this.#oracle, random);
    this.#faults = new Faults(service, [random, parts.perPiece], {
      gateway,
      replaced: (how) => this.#databaseReplaced(how),
    });
  }

  static async open(parts: DriverParts): Promise<Driver> {
    const agent = await parts.service.registerAgent();
    return new Driver(parts, (oracle) => new Uploader({ ...parts, oracle, agent }));
  }

  async round(number: number, round: Round): Promise<void> {
    const { service, log, random } = this.#parts;
    const fault = this.#faults.make(round.fault);
    const works = [
      ...round.uploads.map((kind) => this.#upload(kind)),
      ...round.reads.map((way) => this.#readAny(way)),
      ...round.acts.map((act) => this.#actor.do(act)),
      ...(this.#open.length > random.integer(openAtOnce + 1) ? [this.#open.shift()?.finish()] : []),
    ];
    const done = Promise.all(works);
    // A work that fails ends the others, and is reported when the fault is over.
    done.catch((error: unknown) => service.fail(error));
    await delay(round.strikeAfterMs);
    try {
      await fault.strike();
      await delay(round.lastsMs);
    } catch (error) {
      service.fail(error);
      // What it has stopped would hold up the end of the test.
      await fault.end().catch(() => undefined);
      throw error;
    }
    await fault.end();
    await service.ensureUp();
    await done;
    await this.#adopt();
    await this.#checkSome();
    const { acts, reads, uploads } = round;
    const { length } = this.#oracle.snapshots;
    log(
      `${number} ${round.fault} | ${[...uploads, ...reads, ...acts].join(" ")} | ${length} snapshots, ${new Date(service.now()).toISOString()}`,
    );
  }

  async #upload(kind: UploadKind): Promise<void> {
    const upload = this.#uploader.draw(kind);
    const milliseconds = this.#parts.random.integer(500);
    if (kind !== "files" && kind !== "paused") return this.#uploader.send(upload, milliseconds);
    const open = kind === "files" ? await this.#uploader.openFiles(upload) : await this.#uploader.openPaused(upload);
    if (this.#open.length < openAtOnce) this.#open.push(open);
    else await open.finish();
  }

  async #readAny(way: Way): Promise<void> {
    const one = this.#any();
    if (one === undefined) return;
    const outcome = await this.#reader.read(one, way);
    // Under a fault no content may be there; what is there is right, and what is promised is not said to be gone for good.
    if (outcome === "away" && one.deletedAt === null) await this.#mustBeAway(one);
  }

  #any(): Snapshot | undefined {
    const there = this.#oracle.snapshots.filter(({ isGone, deletedAt }) => !isGone && deletedAt === null);
    return there[this.#parts.random.integer(Math.max(1, there.length))];
  }

  /** Asked again when the service is well. */
  async #mustBeAway(one: Snapshot): Promise<void> {
    if ((await this.#settled(one, "archive")) === "away" && one.deletedAt === null)
      this.#oracle.isAway(one, "it is not there");
  }

  /** Snapshots that are completed, also those whose answer was lost. */
  async #adopt(): Promise<void> {
    const rows = await this.#parts.service.rows<{ id: string; reference: string; source: string; at: Date }>(
      `select id, external_reference as reference, source_id as source, completed_at as at from emanet.snapshots
       where state = 'completed' and external_reference is not null`,
    );
    for (const { id, reference, source, at } of rows)
      this.#oracle.adopt({ id, reference, sourceId: source, completedAt: at.getTime() });
  }

  async #checkSome(): Promise<void> {
    const { random } = this.#parts;
    for (let count = 0; count < checksPerRound; count++) {
      const one = this.#any();
      if (one !== undefined) await this.#check(one, ways[random.integer(ways.length)] ?? "archive");
    }
  }

  /** Everything that was promised. */
  async checkAll(): Promise<void> {
    for (const one of this.#oracle.snapshots)
      if (!one.isGone && one.deletedAt === null) await this.#check(one, "archive");
    const { service } = this.#parts;
    const expired = await service.rows<{ at: Date }>(
      "select expired_at as at from emanet.snapshots where expired_at is not null",
    );
    this.#oracle.checkDailyShare(
      expired.map(({ at }) => at.getTime()),
      this.#oracle.snapshots.length,
    );
  }

  async #check(one: Snapshot, way: Way): Promise<void> {
    this.#checked++;
    if ((await this.#settled(one, way)) === "whole") return this.#checkKept(one);
    // Somebody may have deleted it meanwhile: then it must come back by an undelete, which others try.
    if (one.deletedAt !== null) return;
    const { service } = this.#parts;
    const shown = await service.until("a snapshot is shown", () => service.ask("GET", `/v1/snapshots/${one.id}`));
    const rows = await service.rows("select to_jsonb(s) as row from emanet.snapshots s where id = $1", [one.id]);
    this.#oracle.isAway(one, `it is not there (${shown.status} ${shown.body} ${JSON.stringify(rows)})`);
  }

  /** Reads until the service answers: no fault is active. Content that stays unreadable is lost. */
  async #settled(one: Snapshot, way: Way): Promise<"whole" | "away"> {
    return this.#parts.service.until(`${describe(one)} is read by ${way}`, async () => {
      const outcome = await this.#reader.read(one, way);
      return outcome === "unreadable" ? null : outcome;
    });
  }

  /** Holds and locks are shown. */
  async #checkKept(one: Snapshot): Promise<void> {
    const { service } = this.#parts;
    const isHeld = one.held === "yes" && service.latest() < one.releasedFrom;
    if (!isHeld && one.lockedUntil <= service.now()) return;
    const answer = await service.until("a snapshot is shown", () => service.ask("GET", `/v1/snapshots/${one.id}`));
    assert.equal(answer.status, 200, `${describe(one)}: ${answer.body}`);
    const { retention } = JSON.parse(answer.body.toString());
    if (isHeld) assert.equal(retention.legal_hold, true, `LOST the hold of ${describe(one)}`);
    const locked = Date.parse(retention.locked_until ?? 0);
    if (one.lockedUntil > service.now()) assert.ok(locked >= one.lockedUntil, `LOST the lock of ${describe(one)}`);
  }

  /** The database is another one: everything that was acknowledged must be in it. */
  async #databaseReplaced(how: "recover" | "rebuild"): Promise<void> {
    const { service } = this.#parts;
    service.forgetTokens();
    for (const one of this.#oracle.snapshots.filter(({ deletedAt, isGone }) => deletedAt !== null && !isGone)) {
      const answer = await service.until("a snapshot is shown", () => service.ask("GET", `/v1/snapshots/${one.id}`));
      // A deletion that is just being asked for may still be done.
      if (one.isBusy) continue;
      // A deletion that the copy did not have is not done; the wait of others begins again.
      if (answer.status === 200) one.deletedAt = null;
      else if (how === "recover" && this.#oracle.promiseOf(one) !== null) one.deletedAt = service.now();
    }
    await this.checkAll();
  }

  /** Ends what is open, checks everything, lets time pass, and checks again. */
  async finish(): Promise<string> {
    const { service } = this.#parts;
    for (const open of this.#open.splice(0)) await open.finish();
    await this.#adopt();
    await this.checkAll();
    await passTime(service, false);
    await this.#pruned();
    // What only an upload has that ended between manifest and row goes two weeks after prune has noticed it.
    await service.moveClock(endedKeptMs);
    await this.#pruned();
    await this.checkAll();
    const expected = pickLeft(nothingLeft);
    const left = await service
      .until("nothing is left over", async () => {
        const found = pickLeft(await findLeftovers(service));
        return isDeepStrictEqual(found, expected) ? found : null;
      })
      .catch(async () => pickLeft(await findLeftovers(service)));
    assert.deepEqual(left, expected);
    const { length } = this.#oracle.snapshots;
    return `${this.#uploader.acknowledged} uploads acknowledged, ${length} snapshots, ${this.#checked} checks`;
  }

  async #pruned(): Promise<void> {
    await this.#actor.do("prune");
    // One for later is of an upload that ended between manifest and row.
    const text =
      "select from emanet.jobs where task = 'snapshots.prune_vault' and failed_at is null and key not like 'ended %'";
    const { service } = this.#parts;
    await service.until("prune has run", async () => ((await service.rows(text)).length === 0 ? true : null));
  }
}

/** Jobs that faults have stopped, and snapshots whose verification met a damaged object, are seen by staff and stay. */
function pickLeft({
  failedJobs: _failed,
  unverified: _unverified,
  claimedKeys: _claimed,
  ...left
}: typeof nothingLeft) {
  return left;
}
