/** A client that sends a snapshot file by file, one of them in parts, and what it was told. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import type { TestAnswer } from "../../../packages/server/src/testing/https.ts";
import type { ServiceUnderTest } from "./service-under-test.ts";

interface Sizes {
  readonly smallFiles: number;
  /** Of the file that is sent in parts. */
  readonly largeBytes: number;
  /** The same number makes the same files. */
  readonly seed: number;
}

const largestSmallBytes = 30_000;

/** The answer of a service that can do it later: the client asks again. */
const unavailable = 503;

/** Does not compress. */
function noise(bytes: number, seed: number): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

export class FileSender {
  readonly #service: ServiceUnderTest;
  readonly #largeBytes: number;
  readonly id: string;
  readonly files = new Map<string, Buffer>();
  readonly acknowledged = new Set<string>();
  /** Bytes of the large file that a 204 or a HEAD has named. */
  offset = 0;

  private constructor(service: ServiceUnderTest, id: string, { smallFiles, largeBytes, seed }: Sizes) {
    this.#service = service;
    this.#largeBytes = largeBytes;
    this.id = id;
    for (let i = 0; i < smallFiles; i++) {
      const own = seed * 1000 + i;
      this.files.set(`klasor-${i % 3}/dosya-${i}`, noise(1 + ((own * 7919) % largestSmallBytes), own));
    }
    this.files.set("large.bak", noise(largeBytes, seed * 1000 + 999));
  }

  /** A new snapshot of a source, with its large file begun. */
  static async begin(service: ServiceUnderTest, source: string, sizes: Sizes): Promise<FileSender> {
    const made = await service.send("POST", "/v1/snapshots", { json: { source } });
    assert.equal(made.status, 201, made.body.toString());
    const sender = new FileSender(service, JSON.parse(made.body.toString()).id, sizes);
    await sender.#beginLarge();
    return sender;
  }

  get #url(): string {
    return `/v1/snapshots/${this.id}/files`;
  }

  /** Sends the small files that were not acknowledged. */
  async sendSmall(): Promise<void> {
    const waiting = [...this.files].filter(([path]) => path !== "large.bak" && !this.acknowledged.has(path));
    const next = waiting.values();
    const worker = async () => {
      for (const [path, body] of next) {
        const answer = await this.#service.send("PUT", `${this.#url}/${path}`, { body }).catch(() => null);
        if (answer === null || answer.status === unavailable) return;
        assert.ok([200, 201].includes(answer.status), answer.body.toString());
        this.acknowledged.add(path);
      }
    };
    await Promise.all([worker(), worker(), worker()]);
  }

  async #beginLarge(): Promise<void> {
    const headers = { "upload-length": String(this.#largeBytes) };
    const answer = await this.#service.send("POST", `${this.#url}/large.bak`, { headers });
    assert.equal(answer.status, 201, answer.body.toString());
  }

  /** Sends the rest of the large file from the offset that the service names. Less than was acknowledged is a loss. */
  async sendLarge(partBytes: number): Promise<void> {
    const body = this.files.get("large.bak") ?? assert.fail("no file");
    const head = await this.#service.send("HEAD", `${this.#url}/large.bak`).catch(() => null);
    if (head === null || head.status === unavailable) return;
    assert.equal(head.status, 200);
    const from = Number(head.headers["upload-offset"]);
    assert.ok(from >= this.offset, `${from} of ${this.offset} acknowledged bytes`);
    this.offset = from;
    while (this.offset < body.length) {
      const headers = { "upload-offset": String(this.offset), "content-type": "application/offset+octet-stream" };
      const part = body.subarray(this.offset, this.offset + partBytes);
      const call = { body: part, headers };
      const answer = await this.#service.send("PATCH", `${this.#url}/large.bak`, call).catch(() => null);
      if (answer === null || answer.status === unavailable) return;
      assert.equal(answer.status, 204, answer.body.toString());
      this.offset = Number(answer.headers["upload-offset"]);
    }
  }

  /** Everything was acknowledged. */
  get isSent(): boolean {
    return this.acknowledged.size === this.files.size - 1 && this.offset === this.#largeBytes;
  }

  complete(): Promise<TestAnswer | null> {
    return this.#service.send("POST", `/v1/snapshots/${this.id}/complete`).catch(() => null);
  }

  async assertWhole(): Promise<void> {
    for (const [path, body] of this.files) {
      const answer = await this.#service.send("GET", `${this.#url}/${path}`);
      assert.ok(answer.body.equals(body), `${path}: ${answer.status}, ${answer.body.length} bytes`);
    }
  }
}
