/** Reading snapshots back in every way that the service has, compared byte by byte. */

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import {
  AnswerLostError,
  entriesOf,
  FileReader,
  ObjectStoreError,
  type ReadCalls,
  RemoteReadPort,
  RestoreWorkerPool,
  rootEntry,
} from "@emanet/engine";
import type { TestAnswer } from "../../../packages/server/src/testing/https.ts";
import { contentOf, filesOfTar, type Random, type Upload } from "../../crash/testing/uploads.ts";
import type { HarnessService } from "./harness-service.ts";
import { describe, type Snapshot } from "./oracle.ts";

/** `away`: the service says that it is not there. `unreadable`: no answer, or one without all bytes. Never wrong bytes: that throws. */
export type Outcome = "whole" | "away" | "unreadable";

export const ways = ["archive", "range", "restore", "frames"] as const;
export type Way = (typeof ways)[number];

/** Not found, expired, or not completed any more. */
const awayStatuses = [404, 409, 410];

export class Reader {
  readonly #service: HarnessService;
  readonly #random: Random;
  readonly #pool = new RestoreWorkerPool(0);

  constructor(service: HarnessService, random: Random) {
    this.#service = service;
    this.#random = random;
  }

  read(one: Snapshot, way: Way): Promise<Outcome> {
    if (way === "range") return this.#range(one);
    if (way === "restore") return this.#restore(one);
    return way === "frames" ? this.#frames(one) : this.#archive(one);
  }

  #get(one: Snapshot, target: string, headers: Readonly<Record<string, string>> = {}): Promise<TestAnswer | null> {
    return this.#service.ask("GET", `/v1/snapshots/${one.id}/${target}`, { headers });
  }

  async #archive(one: Snapshot): Promise<Outcome> {
    const answer = await this.#get(one, "archive");
    if (answer === null) return "unreadable";
    if (awayStatuses.includes(answer.status)) return "away";
    return compareTar(one, answer);
  }

  async #range(one: Snapshot): Promise<Outcome> {
    const { files } = one.upload;
    const file = files[this.#random.integer(files.length)] ?? assert.fail("no file");
    const content = contentOf(file);
    const first = this.#random.integer(content.length);
    const last = first + this.#random.integer(content.length - first);
    const answer = await this.#get(one, `files/${file.name}`, { range: `bytes=${first}-${last}` });
    if (answer === null) return "unreadable";
    if (awayStatuses.includes(answer.status)) return "away";
    assert.equal(answer.status, 206, `${describe(one)}: ${answer.body.toString().slice(0, 300)}`);
    assert.ok(
      answer.body.equals(content.subarray(first, last + 1)),
      `ALTERED ${describe(one)} ${file.name} ${first}-${last}`,
    );
    return "whole";
  }

  /** A restore that is prepared as a job, and downloaded. */
  async #restore(one: Snapshot): Promise<Outcome> {
    const json = { snapshot_id: one.id, target: { kind: "download", format: "tar" } };
    const made = await this.#service.ask("POST", "/v1/restore", { json });
    if (made === null) return "unreadable";
    if (made.status !== 202) return "away";
    const { id } = JSON.parse(made.body.toString());
    // A job that a fault has stopped goes on later; a restore that waits is not an outcome.
    for (let asked = 0; asked < jobPolls; asked++) {
      const answer = await this.#service.ask("GET", `/v1/restore/${id}`);
      const status = answer?.status === 200 ? JSON.parse(answer.body.toString()).status : null;
      if (status === "failed" || answer?.status === 404) return "unreadable";
      if (status === "completed") {
        const got = await this.#service.ask("GET", `/v1/restore/${id}/download`);
        return got?.status === 200 ? compareTar(one, got) : "unreadable";
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    return "unreadable";
  }

  /** Sealed frames and their keys, opened here as an agent does. */
  async #frames(one: Snapshot): Promise<Outcome> {
    try {
      const port = await RemoteReadPort.open(this.#calls(one.id));
      const reader = new FileReader({ port, pool: this.#pool, hashesAll: true });
      const files = new Map<string, Buffer>();
      const visit = async (directory: Awaited<ReturnType<typeof rootEntry>>, path: string): Promise<void> => {
        for await (const entry of entriesOf(reader.frames, directory.root)) {
          const name = `${path}${Buffer.from(entry.name)}`;
          if (entry.type === "directory") await visit(entry, `${name}/`);
          if (entry.type === "file") files.set(name, Buffer.concat(await Array.fromAsync(reader.read(entry))));
        }
      };
      await visit(await rootEntry(reader.frames, { rootOrdinal: port.root.ordinal, rootId: port.root.id }), "");
      compareFiles(one, files);
      return "whole";
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return error instanceof AwayError ? "away" : "unreadable";
    }
  }

  #calls(id: string): ReadCalls {
    return {
      call: async (operation, body) => {
        const headers = { "content-type": "application/vnd.emanet.read" };
        const answer = await this.#service.ask("POST", `/v1/snapshots/${id}/read/${operation}`, { body, headers });
        if (answer === null) throw new AnswerLostError("no answer");
        if (awayStatuses.includes(answer.status)) throw new AwayError();
        if (answer.status !== 200) throw new Error(answer.body.toString());
        return answer.body;
      },
      readPack: async (pack, { offset, length }) => {
        const range = `bytes=${offset}-${offset + length - 1}`;
        const answer = await this.#service.ask("GET", `/v1/snapshots/${id}/packs/${pack}`, { headers: { range } });
        if (answer?.status === 404) throw new ObjectStoreError("not_found", "gone");
        if (answer?.status !== 206) throw new AnswerLostError("no answer");
        return answer.body;
      },
    };
  }
}

/** A snapshot that the service does not have. */
class AwayError extends Error {
  override readonly name = "AwayError";
}

/** Some seconds for a small restore on a busy machine. */
const jobPolls = 300;
const pollMs = 50;

function compareTar(one: Snapshot, answer: TestAnswer): Outcome {
  assert.equal(answer.status, 200, `${describe(one)}: ${answer.body.toString().slice(0, 300)}`);
  const body = answer.headers["content-encoding"] === "gzip" ? gunzipSync(answer.body) : answer.body;
  compareFiles(one, filesOfTar(body));
  return "whole";
}

function compareFiles(one: Snapshot, found: ReadonlyMap<string, Buffer>): void {
  const { files }: Upload = one.upload;
  const names = files.map(({ name }) => name).sort();
  assert.deepEqual([...found.keys()].sort(), names, `ALTERED ${describe(one)}: other files`);
  for (const file of files)
    assert.ok(found.get(file.name)?.equals(contentOf(file)), `ALTERED ${describe(one)} ${file.name}`);
}
