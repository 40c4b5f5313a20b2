/** Uploads while processes are killed: what was acknowledged, what was interrupted, and what must be true at the end. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { findLeftovers, type Leftovers, nothingLeft } from "./leftovers.ts";
import { type ServiceUnderTest, until } from "./service-under-test.ts";
import { assertWhole, type Clients, type Kind, type Random, type Sending, Sources, type Upload } from "./uploads.ts";

interface Options {
  readonly service: ServiceUnderTest;
  readonly clients: Clients;
  readonly random: Random;
  /** Bytes of the largest file in most rounds. Every tenth round has ten times as much: several packs and units. */
  readonly fileBytes: number;
}

/** Times that an upload is sent again until it must be there. */
const maxRepeats = 3;

export class UploadRounds {
  readonly #service: ServiceUnderTest;
  readonly #clients: Clients;
  readonly #random: Random;
  readonly #sources: Sources;
  readonly acknowledged: { readonly id: string; readonly upload: Upload }[] = [];
  readonly #interrupted: Upload[] = [];
  #uploads = 0;

  constructor({ service, clients, random, fileBytes }: Options) {
    this.#service = service;
    this.#clients = clients;
    this.#random = random;
    this.#sources = new Sources(random, fileBytes);
  }

  /** Starts uploads of these kinds, each by a process of its own. */
  async start(round: number, wanted: readonly Kind[]): Promise<Sending[]> {
    const times = round % 10 === 9 ? 10 : 1;
    const uploads = wanted.map((kind) => this.#sources.next(`r${round}-${this.#uploads++}-${kind}`, kind, times));
    return Promise.all(uploads.map((upload) => this.#clients.start(upload, 200 + this.#random.integer(1_000))));
  }

  /** Waits for uploads, and reads back what was acknowledged. */
  async settle(sendings: readonly Sending[]): Promise<void> {
    await Promise.all(sendings.map(({ ended }) => ended));
    const known = this.acknowledged.length;
    for (const sending of sendings) this.#note(sending);
    for (const { id, upload } of this.acknowledged.slice(known)) await assertWhole(this.#service, id, upload);
  }

  #note(sending: Sending): void {
    const id = sending.acknowledged;
    if (id === null) this.#interrupted.push(sending.upload);
    else this.acknowledged.push({ id, upload: sending.upload });
  }

  /** What was interrupted is sent again with its key. Every key has one completed snapshot then. */
  async repeatInterrupted(): Promise<void> {
    // The claims of dead processes end.
    await this.#service.advance(61);
    for (const upload of this.#interrupted) {
      const again = upload.kind === "agent" ? { ...upload, key: `${upload.key}-again` } : upload;
      this.acknowledged.push({ id: await this.#sendAgain(again), upload: again });
    }
    const rows = await this.#service.rows<{ key: string; count: number }>(
      `select external_reference as key, count(*)::int as count from emanet.snapshots
       where state = 'completed' and external_reference is not null group by 1 having count(*) > 1`,
    );
    assert.deepEqual(rows, [], "a key has one completed snapshot");
    const completed = await this.#service.rows<{ id: string }>(
      "select id from emanet.snapshots where state = 'completed'",
    );
    const known = new Set(completed.map(({ id }) => id));
    assert.deepEqual(
      this.acknowledged.filter(({ id }) => !known.has(id)),
      [],
    );
  }

  /** A store that fails may fail again: the service answers 503, and the client comes once more. */
  async #sendAgain(upload: Upload): Promise<string> {
    const lines: string[] = [];
    for (let attempt = 0; attempt < maxRepeats; attempt++) {
      const sending = await this.#clients.start(upload, 0);
      await sending.ended;
      if (sending.acknowledged !== null) return sending.acknowledged;
      lines.push(...sending.lines);
      if (!sending.lines.some((line) => line.startsWith("answer 503"))) break;
    }
    return assert.fail(`${upload.key}: ${lines.join(" | ")}`);
  }

  async assertAllWhole(): Promise<void> {
    for (const { id, upload } of this.acknowledged) await assertWhole(this.#service, id, upload);
  }
}

const hour = 3600;

async function deadUploadsEnded(service: ServiceUnderTest): Promise<void> {
  await until("uploads of dead processes have failed", async () => {
    const open = await service.rows(
      "select 1 from emanet.snapshots where state = 'running' and upload_kind = 'one_call'",
    );
    if (open.length > 0) await service.advance(60);
    return open.length === 0 ? true : null;
  });
}

/** Ends what waits for hours: idle uploads, leases, content that nobody continues, temporary files. */
export async function passTime(service: ServiceUnderTest, isHeavy: boolean): Promise<void> {
  // A process that died is noticed after a minute without its heartbeat, by the time of the database.
  if (isHeavy) await deadUploadsEnded(service);
  else await service.rows("update emanet.snapshots set alive_at = alive_at - interval '61 seconds'");
  await service.advance(25 * hour);
  await until("idle uploads are abandoned", async () => {
    const open = await service.rows("select 1 from emanet.snapshots where state in ('queued', 'running')");
    return open.length === 0 ? true : null;
  });
  // The ages of files follow the system's clock, which stays.
  await service.ageTemporaryFiles(8 * 24 * hour);
  await service.advance(8 * 24 * hour);
}

/**
 * What is left over when jobs have had their time. What only an upload has that ended between manifest and row goes two weeks
 * after a prune has noticed it.
 */
export async function leftWhenQuiet(service: ServiceUnderTest): Promise<Leftovers> {
  await until("ended uploads are noticed", async () => {
    const waiting = await service.rows("select 1 from emanet.jobs where key like 'ended %'");
    const { straySnapshots } = await findLeftovers(service);
    return waiting.length >= straySnapshots.length ? true : null;
  });
  await service.advance(15 * 24 * hour);
  const quiet = until("nothing is left over", async () => {
    const found = await findLeftovers(service);
    return isDeepStrictEqual(found, nothingLeft) ? found : null;
  });
  return quiet.catch(() => findLeftovers(service));
}
