/** Uploads of every kind by clients that come again after a failure, until the service acknowledges them. */

import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";
import { backUpFolder } from "../../../packages/server/src/testing/folder-backup.ts";
import { sendPieces } from "../../../packages/server/src/testing/send-pieces.ts";
import { type AgentKeys, seedOfAgent } from "../../crash/testing/service-under-test.ts";
import { bodyOf, contentOf, headersOf, kinds, type Random, Sources, type Upload } from "../../crash/testing/uploads.ts";
import type { HarnessService } from "./harness-service.ts";
import type { Oracle } from "./oracle.ts";

/** `files`: file by file, some rounds long. `paused`: an agent that waits before its last call, some rounds long. */
export const uploadKinds = [...kinds, "files", "paused"] as const;
export type UploadKind = (typeof uploadKinds)[number];

/** An upload that is open for several rounds. */
export interface OpenUpload {
  /** Lets it go on, and waits for its end. */
  finish(): Promise<void>;
}

interface Parts {
  readonly cleanup: Cleanup;
  readonly service: HarnessService;
  readonly oracle: Oracle;
  readonly random: Random;
  readonly folder: string;
  readonly agent: AgentKeys;
  /** Bytes of the largest file. */
  readonly fileBytes: number;
}

const piecePauseMs = 10;
/** An upload that sends nothing lives so long at least. */
const leaseMs = 3_600_000;
/** A claim of a key by a process that died ends after a minute. */
const claimMs = 61_000;

export class Uploader {
  readonly #parts: Parts;
  readonly #sources: Sources;
  #count = 0;
  acknowledged = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sources = new Sources(parts.random, parts.fileBytes);
  }

  /** The next upload of a kind. Drawn before it is sent, so that the same seed draws the same. */
  draw(kind: UploadKind): Upload {
    const real = kind === "paused" ? "agent" : kind === "files" ? "tar" : kind;
    return this.#sources.next(`u${this.#count++}-${kind}`, real);
  }

  /** An upload of files that were sent before, all of them new to its source. */
  again(source: string, files: Upload["files"]): Upload {
    return { key: `u${this.#count++}-again`, kind: "tar", source, files };
  }

  /** Sends it until it is acknowledged. */
  async send(upload: Upload, milliseconds: number): Promise<void> {
    let attempt = 0;
    await this.#parts.service.until(`${upload.key} is acknowledged`, async () => {
      const reference = `${upload.key}.${attempt}`;
      this.#parts.oracle.mayCome(reference, upload);
      const said =
        upload.kind === "agent"
          ? await this.#sendFolder(upload, reference)
          : await this.#sendBody(upload, reference, milliseconds);
      if (/^answer 20[01] /.test(said)) return true;
      if (/idempotency_in_progress/.test(said)) await this.#parts.service.moveClock(claimMs);
      // A lost answer is asked for with the same key; a refusal is final for its key.
      else if (said.startsWith("answer")) attempt++;
      this.#assertMayFail(upload, said);
      this.#parts.service.noteRefusal(`${reference}: ${said}`);
      return null;
    });
    this.acknowledged++;
  }

  #assertMayFail(upload: Upload, said: string): void {
    const status = Number(/^answer (\d+)/.exec(said)?.[1] ?? 0);
    if (status === 401) this.#parts.service.forgetTokens();
    // Without an answer, refused for now, or interrupted.
    const isKnown =
      [0, 401, 408, 429].includes(status) || status >= 500 || /idempotency_in_progress|state_conflict/.test(said);
    assert.ok(isKnown, `${upload.key}: ${said}`);
  }

  async #sendBody(upload: Upload, reference: string, milliseconds: number): Promise<string> {
    const { service } = this.#parts;
    const auth = await service.auth().catch(() => null);
    if (auth === null) return "lost no token";
    const body = bodyOf(upload);
    const name = upload.kind === "file" ? `&path=${encodeURIComponent(upload.files[0]?.name ?? "")}` : "";
    const { url, ca } = service.client;
    return sendPieces({
      ...{ url, ca, body, pauseMs: piecePauseMs },
      target: `/v1/snapshots?source=${upload.source}&external_reference=${reference}${name}`,
      headers: { ...auth, "idempotency-key": reference, ...headersOf(upload.kind) },
      pieceBytes: Math.ceil(body.length / (1 + Math.floor(milliseconds / piecePauseMs))),
    });
  }

  async #sendFolder(upload: Upload, reference: string, before?: (operation: string) => Promise<void>): Promise<string> {
    const { service, agent, folder } = this.#parts;
    const place = path.join(folder, reference);
    for (const file of upload.files) {
      await mkdir(path.dirname(path.join(place, file.name)), { recursive: true });
      await writeFile(path.join(place, file.name), contentOf(file));
    }
    const { demo } = await service.firstRun();
    const { url, ca } = service.client;
    try {
      const id = await backUpFolder({
        ...{ place: { url, ca }, auth: () => patientAuth(service), folder: place, source: upload.source, reference },
        ...{ owner: `client:${demo.client_id}`, seed: seedOfAgent.toString("base64"), keys: agent },
        ...{ signal: service.failed, ...(before && { before }) },
      });
      return `answer 200 ${id}`;
    } catch (error) {
      // A token of before a recovery. Otherwise the engine's refusals: the upload has ended at the service, and the client begins again.
      const status = /^Error: 401 /.test(String(error)) ? 401 : 503;
      return `answer ${status} ${String(error)}`;
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  }

  /** Begins an agent's upload that stops before its last call. What the service refuses then is sent again as a new upload. */
  async openPaused(upload: Upload): Promise<OpenUpload> {
    const reference = `${upload.key}.p`;
    this.#parts.oracle.mayCome(reference, upload);
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const began = { time: this.#parts.service.now(), moment: Date.now() };
    const databases = this.#parts.service.databases;
    this.#parts.service.failed.addEventListener("abort", () => goOn(), { once: true });
    const sent = this.#sendFolder(upload, reference, async (operation) => {
      if (operation !== "complete") return;
      reach();
      await goesOn;
    });
    await Promise.race([reached, sent]);
    return {
      finish: async () => {
        goOn();
        const said = await sent;
        if (/^answer 200/.test(said)) {
          this.acknowledged++;
          return;
        }
        const { service } = this.#parts;
        const earliest = Math.min(began.time, service.earliestSince(began.moment));
        const mayHaveEnded = service.latest() > earliest + leaseMs || service.databases !== databases;
        const isEnded = /lease_expired|unknown_upload/.test(said);
        assert.ok(mayHaveEnded || !isEnded, `${upload.key} was ended before its lease: ${said}`);
        await this.send(upload, 0);
      },
    };
  }

  /** Begins a snapshot file by file: with half of its files, and half of the last one in parts. */
  async openFiles(upload: Upload): Promise<OpenUpload> {
    const reference = `${upload.key}.f`;
    this.#parts.oracle.mayCome(reference, upload);
    const json = { source: upload.source, external_reference: reference };
    const headers = { "idempotency-key": reference };
    const id = await this.#parts.service.until(`${upload.key} is made`, async () => {
      const made = await this.#parts.service.ask("POST", "/v1/snapshots", { json, headers });
      if (made?.status === 409) await this.#parts.service.moveClock(claimMs);
      if (made === null || made.status === 409) return null;
      assert.equal(made.status, 201, made.body.toString());
      return JSON.parse(made.body.toString()).id as string;
    });
    const half = Math.ceil(upload.files.length / 2);
    const parts = new InParts(this.#parts.service, id, upload.files.at(-1) ?? assert.fail("no file"));
    const isOpen = (await this.#putFiles(id, upload.files.slice(0, half))) && (await parts.sendTo(0.5));
    return {
      finish: async () => {
        const isSent = isOpen && (await this.#putFiles(id, upload.files.slice(half, -1))) && (await parts.sendTo(1));
        const isWhole = isSent && (await this.#complete(id));
        if (isWhole) this.acknowledged++;
        // The clock was moved by more than a day, or the database is another one: the upload has ended.
        else await this.send(upload, 0);
      },
    };
  }

  /** False if the upload has ended. */
  async #putFiles(id: string, files: Upload["files"]): Promise<boolean> {
    for (const file of files) {
      const status = await this.#parts.service.until(`${file.name} of ${id} is stored`, async () => {
        const body = contentOf(file);
        const answer = await this.#parts.service.ask("PUT", `/v1/snapshots/${id}/files/${file.name}`, { body });
        return answer === null || [408, 429].includes(answer.status) ? null : answer.status;
      });
      if ([404, 409].includes(status)) return false;
      assert.ok([200, 201].includes(status), `${file.name} of ${id}: ${status}`);
    }
    return true;
  }

  async #complete(id: string): Promise<boolean> {
    const { service } = this.#parts;
    const status = await service.until(`${id} is completed`, async () => {
      const answer = await service.ask("POST", `/v1/snapshots/${id}/complete`);
      // Another process has the completion; one that died is noticed after a minute, by the time of the database.
      if (answer?.status === 202) await service.rows(deadCompletions).catch(() => undefined);
      return answer === null || [202, 408, 429].includes(answer.status) ? null : answer.status;
    });
    assert.ok([200, 404, 409].includes(status), `${id}: ${status}`);
    return status === 200;
  }
}

/** A file that is sent in parts, and continued where the service says it is. */
class InParts {
  readonly #service: HarnessService;
  readonly #target: string;
  readonly #content: Buffer;
  #acknowledged = 0;

  constructor(service: HarnessService, id: string, file: Upload["files"][number]) {
    this.#service = service;
    this.#target = `/v1/snapshots/${id}/files/${file.name}`;
    this.#content = contentOf(file);
  }

  /** Sends this part of it. False if the upload has ended. */
  sendTo(part: number): Promise<boolean> {
    const end = Math.floor(this.#content.length * part);
    return this.#service.until(`${this.#target} is sent to ${end}`, async () => {
      const head = await this.#service.ask("HEAD", this.#target);
      if (head === null) return null;
      if (head.status !== 200) return this.#begin();
      const from = Number(head.headers["upload-offset"]);
      assert.ok(from >= this.#acknowledged, `LOST ${this.#acknowledged - from} acknowledged bytes of ${this.#target}`);
      this.#acknowledged = from;
      if (from >= end) return true;
      const headers = { "upload-offset": String(from), "content-type": "application/offset+octet-stream" };
      const body = this.#content.subarray(from, end);
      const answer = await this.#service.ask("PATCH", this.#target, { body, headers });
      if (answer?.status === 204) this.#acknowledged = Number(answer.headers["upload-offset"]);
      return null;
    });
  }

  async #begin(): Promise<false | null> {
    const headers = { "upload-length": String(this.#content.length) };
    const answer = await this.#service.ask("POST", this.#target, { headers });
    if (answer !== null && [404, 409].includes(answer.status)) return false;
    assert.ok(
      answer?.status !== 201 || this.#acknowledged === 0,
      `LOST ${this.#acknowledged} bytes of ${this.#target}`,
    );
    return null;
  }
}

const deadCompletions =
  "update emanet.snapshots set alive_at = alive_at - interval '61 seconds' where closed_at is not null and state = 'running'";

function patientAuth(service: HarnessService): Promise<Readonly<Record<string, string>>> {
  return service.until("a client gets a token", () => service.auth().catch(() => null));
}
