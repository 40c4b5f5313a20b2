/**
 * Objects in a bucket of S3 or of a compatible server, through the official client.
 *
 * Invariants
 * - One request per attempt: the client's own retries are off. A repeated `If-None-Match` write whose first answer was
 *   lost would get "exists" for its own object. `retrying.ts` repeats calls and handles this case.
 * - Conditional writes are checked when the store is opened (`s3-probe.ts`); a server without them is refused.
 * - Every upload carries a CRC32 that the server checks; a whole read is checked where the server returns one.
 */

import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import {
  assertByteRange,
  assertListPrefix,
  assertObjectName,
  type ByteRange,
  type CallOptions,
  type GetOptions,
  isObjectStoreError,
  type ListOptions,
  maxObjectBytes,
  type ObjectBody,
  type ObjectEntry,
  type ObjectStat,
  type ObjectStore,
  ObjectStoreError,
  type PutOptions,
} from "@emanet/engine/object-store";
import { throwIfAborted } from "./body.ts";
import { s3Error } from "./s3-errors.ts";
import { probeConditionalWrites, removeOldUploads } from "./s3-probe.ts";
import { discard, readExactly } from "./s3-read.ts";
import { sendObject } from "./s3-upload.ts";
import type { S3Location } from "./s3-url.ts";

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface S3StoreOptions {
  readonly location: S3Location;
  /** Without them the client uses the sources of AWS tools: environment, profile, instance role. */
  readonly credentials?: S3Credentials | undefined;
  /** Milliseconds since 1970: distinguishes abandoned uploads from current ones. */
  readonly now: () => number;
  /** A connection on which nothing moves for this long is given up (default 30 s). */
  readonly idleLimitMs?: number | undefined;
}

/** Opens a store in a bucket. Rejects with `unsupported` where the server has no conditional writes. */
export async function openS3Store(options: S3StoreOptions): Promise<S3Store> {
  const client = makeClient(options);
  const { bucket, prefix } = options.location;
  try {
    await probeConditionalWrites({ client, bucket, prefix });
    await removeOldUploads({ client, bucket, prefix }, options.now());
  } catch (error) {
    client.destroy();
    throw s3Error(error, "open the bucket");
  }
  return new S3Store(client, options.location, options.now);
}

/** A near server connects in milliseconds, a far one in a second; beyond this it is down. */
const connectLimitMs = 5_000;

/** S3 answers the slowest list pages within seconds; servers behind load balancers are cut at 60 s. */
const defaultIdleLimitMs = 30_000;

/** Asked of each list page; S3 gives at most this many. */
const listPageNames = 1000;

/** Made by `openS3Store`. */
export class S3Store implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #now: () => number;

  constructor(client: S3Client, location: S3Location, now: () => number) {
    this.#client = client;
    this.#now = now;
    this.#bucket = location.bucket;
    this.#prefix = location.prefix;
  }

  /** Aborts uploads that killed processes left. Opening does it too; this is for a process that runs for months. */
  async removeLeftovers(): Promise<void> {
    try {
      await removeOldUploads({ client: this.#client, bucket: this.#bucket, prefix: this.#prefix }, this.#now());
    } catch (error) {
      throw s3Error(error, "remove leftovers");
    }
  }

  /** The time of the server, to the second, in milliseconds since 1970: the `Date` of an answer. */
  async time(): Promise<number> {
    const command = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#prefix, MaxKeys: 1 });
    let date = "";
    command.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        date = (result.response as { headers?: Readonly<Record<string, string>> }).headers?.["date"] ?? "";
        return result;
      },
      { step: "deserialize", name: "readDate" },
    );
    try {
      await this.#client.send(command);
    } catch (error) {
      throw s3Error(error, "read the time");
    }
    const time = Date.parse(date);
    if (Number.isNaN(time)) throw new ObjectStoreError("unsupported", "the server does not say its time");
    return time;
  }

  async put(name: string, body: ObjectBody, options: PutOptions = {}): Promise<void> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    try {
      const target = { client: this.#client, bucket: this.#bucket, key: this.#prefix + name };
      // Saves sending 64 MiB for nothing. The server decides at the end.
      await sendObject(target, body, options, () => (options.ifAbsent ? this.#assertFree(name) : Promise.resolve()));
    } catch (cause) {
      const error = s3Error(cause, `put ${name}`, options.signal);
      // If another writer was first, servers answer 412, or 409 "try again"; a stat now shows which it was.
      if (options.ifAbsent && isObjectStoreError(error, "unavailable") && isConflict(cause))
        await this.#assertFree(name);
      throw error;
    }
  }

  async get(name: string, options: GetOptions = {}): Promise<Uint8Array> {
    assertObjectName(name);
    if (options.range !== undefined) assertByteRange(options.range);
    throwIfAborted(options.signal);
    // HTTP has no way to ask for nothing.
    if (options.range?.length === 0) return this.#getNothing(name, options.range, options);
    try {
      return await this.#download(name, options);
    } catch (error) {
      throw s3Error(error, `get ${name}`, options.signal);
    }
  }

  async stat(name: string, options: CallOptions = {}): Promise<ObjectStat | null> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + name });
    try {
      const { ContentLength } = await this.#client.send(command, sending(options));
      return { size: assertLength(ContentLength) };
    } catch (cause) {
      const error = s3Error(cause, `stat ${name}`, options.signal);
      if (error.code === "not_found") return null;
      throw error;
    }
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<ObjectEntry, void> {
    const { after = "" } = options;
    assertListPrefix(prefix);
    assertListPrefix(after);
    let last = after;
    for (let token: string | undefined, more = true; more; ) {
      throwIfAborted(options.signal);
      const page = await this.#listPage(prefix, after, token, options);
      for (const entry of page.entries) {
        // S3 Express and some others list in no order; a resumed list would then skip objects.
        if (entry.name <= last) throw new ObjectStoreError("unsupported", "the server does not list in order");
        last = entry.name;
        yield entry;
      }
      token = page.next;
      more = token !== undefined;
    }
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + name });
    try {
      await this.#client.send(command, sending(options));
    } catch (cause) {
      const error = s3Error(cause, `delete ${name}`, options.signal);
      if (error.code !== "not_found") throw error;
    }
  }

  /** Closes idle connections. */
  async close(): Promise<void> {
    this.#client.destroy();
  }

  async #download(name: string, options: GetOptions): Promise<Uint8Array> {
    const { range } = options;
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: this.#prefix + name,
      ...(range === undefined ? {} : { Range: `bytes=${range.offset}-${range.offset + range.length - 1}` }),
    });
    const { Body, ContentLength } = await this.#client.send(command, sending(options));
    const length = assertLength(ContentLength);
    const problem = unfit(name, range, length);
    if (problem === null) return readExactly(Body, length, options.signal);
    discard(Body);
    throw problem;
  }

  async #getNothing(name: string, { offset }: ByteRange, options: CallOptions): Promise<Uint8Array> {
    const stat = await this.stat(name, options);
    if (stat === null) throw new ObjectStoreError("not_found", name);
    if (offset > stat.size) throw new ObjectStoreError("range", `${name} has ${stat.size} bytes, asked from ${offset}`);
    return new Uint8Array(0);
  }

  async #assertFree(name: string): Promise<void> {
    if ((await this.stat(name)) !== null) throw new ObjectStoreError("exists", name);
  }

  async #listPage(prefix: string, after: string, token: string | undefined, options: CallOptions) {
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      Prefix: this.#prefix + prefix,
      MaxKeys: listPageNames,
      ...(token === undefined ? {} : { ContinuationToken: token }),
      ...(after === "" ? {} : { StartAfter: this.#prefix + after }),
    });
    try {
      const page = await this.#client.send(command, sending(options));
      const entries = (page.Contents ?? []).map(({ Key = "", Size }) => ({
        name: Key.slice(this.#prefix.length),
        size: assertLength(Size),
      }));
      const next = page.IsTruncated ? page.NextContinuationToken : undefined;
      if (page.IsTruncated && !next)
        throw new ObjectStoreError("unsupported", "a list page does not say where to go on");
      return { entries: entries.filter(({ name }) => isObjectName(name)), next };
    } catch (error) {
      throw s3Error(error, `list ${prefix}`, options.signal);
    }
  }
}

function makeClient({ location, credentials, idleLimitMs }: S3StoreOptions): S3Client {
  return new S3Client({
    region: location.region,
    forcePathStyle: location.pathStyle,
    ...(location.endpoint === undefined ? {} : { endpoint: location.endpoint }),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: 1,
    // "Expect: 100-continue" makes the client open a new connection, with its TLS handshake, for every large put.
    expectContinueHeader: false,
    requestChecksumCalculation: "WHEN_SUPPORTED",
    responseChecksumValidation: "WHEN_SUPPORTED",
    requestHandler: { connectionTimeout: connectLimitMs, socketTimeout: idleLimitMs ?? defaultIdleLimitMs },
  });
}

/** Something between us and the server may have dropped it. No length must not be taken for an empty object. */
function assertLength(length: number | undefined): number {
  if (length === undefined) throw new ObjectStoreError("unavailable", "the answer does not say how long the object is");
  return length;
}

/** Why an answer of this length is not what was asked for, or null. */
function unfit(name: string, range: ByteRange | undefined, length: number): ObjectStoreError | null {
  if (length > maxObjectBytes) return new ObjectStoreError("too_large", name);
  if (range === undefined || length === range.length) return null;
  if (length > range.length) return new ObjectStoreError("unsupported", "the server ignores ranges");
  // HTTP answers a range that reaches past the end with what there is; the port refuses it.
  return new ObjectStoreError("range", `${name} ends ${range.length - length} bytes before the end of the range`);
}

/** Other objects in the bucket, and our own probe, are no objects of the store. */
function isObjectName(name: string): boolean {
  try {
    assertObjectName(name);
    return true;
  } catch {
    return false;
  }
}

function isConflict(error: unknown): boolean {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode === 409;
}

function sending({ signal }: CallOptions): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}
