/** Uploads by processes of their own: what each sends, what it was told, and whether the snapshot has every byte. */

import assert from "node:assert/strict";
import { createCipheriv, createHash } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import { zip } from "../../../packages/server/src/archives/testing/made-zips.ts";
import { endMark, member } from "../../../packages/server/src/archives/testing.ts";
import { type Program, startProgram } from "../../../packages/server/src/testing/child.ts";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";
import type { seededRandom } from "../../../packages/server/src/testing/seeded-random.ts";
import { type AgentKeys, type ServiceUnderTest, seedOfAgent } from "./service-under-test.ts";

export type Random = ReturnType<typeof seededRandom>;

export const kinds = ["tar", "gzip", "zstd", "zip", "file", "agent"] as const;
export type Kind = (typeof kinds)[number];

/** A file, by the number that its content is made from. */
export interface MadeFile {
  readonly name: string;
  readonly seed: number;
  readonly bytes: number;
}

/** Bytes that no compression makes smaller, and every fourth file text. The same for the same seed. */
export function contentOf({ seed, bytes }: MadeFile): Buffer {
  if (seed % 4 === 0) return Buffer.alloc(bytes, `${createHash("sha256").update(`${seed}`).digest("hex")}\n`);
  const key = createHash("sha256").update(`${seed}`).digest().subarray(0, 16);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

export interface Upload {
  /** Also its Idempotency-Key and its external reference. */
  readonly key: string;
  readonly kind: Kind;
  readonly source: string;
  readonly files: readonly MadeFile[];
}

/** The files of each source, of which an upload changes some. */
export class Sources {
  readonly #random: Random;
  readonly #fileBytes: number;
  readonly #files = new Map<string, MadeFile[]>();
  #seeds = 1;

  constructor(random: Random, fileBytes: number) {
    this.#random = random;
    this.#fileBytes = fileBytes;
  }

  /** The next upload of a source: a third of its files are new. */
  next(key: string, kind: Kind, times = 1): Upload {
    const source = `${kind}-${this.#random.integer(2)}`;
    const before =
      this.#files.get(source) ?? Array.from({ length: kind === "file" ? 1 : 6 }, (_, at) => this.#make(at, times));
    const files = before.map((file, at) => (this.#random.integer(3) === 0 ? this.#make(at, times) : file));
    this.#files.set(source, files);
    return { key, kind, source, files };
  }

  #make(at: number, times: number): MadeFile {
    const bytes = 1 + this.#random.integer(this.#fileBytes * times);
    return { name: `klasor/dosya-${at}.bin`, seed: this.#seeds++, bytes };
  }
}

/** What a client process has said. */
export class Sending {
  readonly upload: Upload;
  readonly lines: string[] = [];
  readonly ended: Promise<void>;
  readonly #program: Program;
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(upload: Upload, program: Program) {
    this.upload = upload;
    this.#program = program;
    this.ended = this.#read();
  }

  /** Waits until it has said a line like this, or has ended. */
  async said(pattern: RegExp): Promise<void> {
    while (!this.#isOver && !this.lines.some((line) => pattern.test(line)))
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** The snapshot, if the client was told that it is completed. */
  get acknowledged(): string | null {
    const found = /^answer 20[01] (.*)$/.exec(this.lines.at(-1) ?? "");
    return found?.[1] === undefined ? null : (JSON.parse(found[1]) as { id: string }).id;
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }

  async #read(): Promise<void> {
    for (;;) {
      const line = await this.#program.line().catch(() => null);
      if (line === null) break;
      this.lines.push(line);
      this.#wake();
    }
    const { errors } = await this.#program.exit();
    if (errors !== "") this.lines.push(`stderr ${errors}`);
    this.#isOver = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

export class Clients {
  readonly #cleanup: Cleanup;
  readonly #service: ServiceUnderTest;
  readonly #folder: string;
  readonly #agent: AgentKeys;

  constructor(cleanup: Cleanup, service: ServiceUnderTest, folder: string, agent: AgentKeys) {
    this.#cleanup = cleanup;
    this.#service = service;
    this.#folder = folder;
    this.#agent = agent;
  }

  /** Starts a process that sends the upload, in about so much time. */
  async start(upload: Upload, milliseconds: number): Promise<Sending> {
    const common = {
      ...{ url: this.#service.client.url, caFile: await this.#service.caFile },
      headers: { ...(await this.#service.auth()) } as Record<string, string>,
    };
    const terms =
      upload.kind === "agent" ? await this.#folderTerms(upload) : await this.#bodyTerms(upload, milliseconds);
    const name = upload.kind === "agent" ? "back-up-folder" : "send-upload";
    const args = [JSON.stringify({ ...common, ...terms, headers: { ...common.headers, ...terms.headers } })];
    return new Sending(upload, startProgram(this.#cleanup, name, { args }));
  }

  /** Removes what the clients read. */
  async forget({ key }: Upload): Promise<void> {
    await rm(path.join(this.#folder, key), { recursive: true, force: true });
  }

  async #folderTerms({ key, source, files }: Upload) {
    const folder = path.join(this.#folder, key);
    for (const file of files) {
      await mkdir(path.dirname(path.join(folder, file.name)), { recursive: true });
      await writeFile(path.join(folder, file.name), contentOf(file));
    }
    const { demo } = await this.#service.firstRun();
    return {
      ...{ folder, source, reference: key, owner: `client:${demo.client_id}`, headers: {} },
      ...{ seed: seedOfAgent.toString("base64"), keys: this.#agent },
    };
  }

  async #bodyTerms(upload: Upload, milliseconds: number) {
    const { key, source, kind, files } = upload;
    const bodyFile = path.join(this.#folder, key);
    const body = bodyOf(upload);
    await writeFile(bodyFile, body);
    const name = kind === "file" ? `&path=${encodeURIComponent(files[0]?.name ?? "")}` : "";
    const pieces = 1 + Math.floor(milliseconds / 10);
    return {
      target: `/v1/snapshots?source=${source}&external_reference=${key}${name}`,
      headers: { "idempotency-key": key, ...headersOf(kind) },
      ...{ bodyFile, pieceBytes: Math.ceil(body.length / pieces), pauseMs: 10 },
    };
  }
}

export function headersOf(kind: Kind): Readonly<Record<string, string>> {
  if (kind === "file") return { "content-type": "application/octet-stream" };
  if (kind === "zip") return { "content-type": "application/zip" };
  return { "content-type": "application/x-tar", ...(kind !== "tar" && { "content-encoding": kind }) };
}

export function bodyOf({ kind, files }: Upload): Buffer {
  const [first] = files;
  if (kind === "file") return first === undefined ? assert.fail("no file") : contentOf(first);
  if (kind === "zip") return zip(files.map((file) => ({ name: file.name, content: contentOf(file), method: 8 })));
  const members = files.map((file) => member({ name: file.name, mtime: 1_700_000_000 }, contentOf(file)));
  const tar = Buffer.concat([...members, endMark]);
  if (kind === "gzip") return gzipSync(tar, { level: 1 });
  return kind === "zstd" ? zstdCompressSync(tar) : tar;
}

/** Reads the snapshot back and compares every byte with what was sent. */
export async function assertWhole(service: ServiceUnderTest, id: string, { key, kind, files }: Upload): Promise<void> {
  const target = kind === "file" ? `files/${files[0]?.name}` : "archive";
  const answer = await service.send("GET", `/v1/snapshots/${id}/${target}`);
  assert.equal(answer.status, 200, `${key}: ${answer.body.toString().slice(0, 500)}`);
  const body = answer.headers["content-encoding"] === "gzip" ? gunzipSync(answer.body) : answer.body;
  const found = kind === "file" ? new Map([[files[0]?.name ?? "", body]]) : filesOfTar(body);
  assert.deepEqual([...found.keys()].sort(), files.map(({ name }) => name).sort(), key);
  for (const file of files) assert.ok(found.get(file.name)?.equals(contentOf(file)), `${key} ${file.name}`);
}

const block = 512;

/** The regular files of an archive whose names are short and ASCII. Throws if it has no end mark. */
export function filesOfTar(tar: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; ; ) {
    const header = tar.subarray(at, at + block);
    if (header.length < block) assert.fail("the archive has no end mark");
    if (header.every((byte) => byte === 0)) return files;
    const text = (start: number, end: number) => header.toString("latin1", start, end).replace(/[\0 ].*$/s, "");
    const size = Number.parseInt(text(124, 136) || "0", 8);
    if (text(156, 157) === "0") files.set(text(0, 100), tar.subarray(at + block, at + block + size));
    at += block + Math.ceil(size / block) * block;
  }
}
