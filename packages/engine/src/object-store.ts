/**
 * The object store interface: the only way the engine keeps bytes outside its own process.
 *
 * Nouns
 * - *object*: a name and an immutable sequence of bytes. There are no appends and no partial writes.
 * - *name*: what `assertObjectName` accepts. Lower case only, so that two names are never the same on a file system
 *   that ignores case; no part that a file system or an operating system treats specially.
 * - *answer*: what a call resolves or rejects with. An answer can get lost after the work was done (`unavailable`),
 *   so the caller of a failed `put` or `delete` knows nothing about whether it happened.
 *
 * What every implementation guarantees (`packages/storage/src/testing/conformance.ts` tests each sentence)
 * 1. **Whole or nothing.** Readers never see a part of a `put`. A `put` that rejects, is aborted, or ends with a crash
 *    of the process leaves the name as it was, or (lost answer) with the whole new object.
 * 2. **Durable when it returns.** After `put` or `delete` resolved, a crash of the process, of the machine or of the
 *    storage server does not undo it. `exists` is an answer about durable state too.
 * 3. **One winner.** Of any number of concurrent `put(…, { ifAbsent: true })` for one name, in one process or in many,
 *    at most one resolves; the others reject with `exists`.
 * 4. **Read after write.** Once `put` resolved, every `get` and `stat` sees the object; once `delete` resolved, none
 *    does.
 * 5. **List after write.** A `list` started after a `put` resolved contains the name; started after a `delete`
 *    resolved, it does not. What is written or deleted while a list runs may or may not be in it; every other name is
 *    in it exactly once. Some S3-compatible servers lag here, so nothing may be *deleted* or taken for *free* because
 *    a list did not show it: ask `stat`, or use `ifAbsent`.
 * 6. **Order.** `list` yields names in ascending order of their bytes (plain ASCII, so `<` on strings).
 * 7. **Idempotent delete.** Deleting a name that is not there resolves.
 * 8. **Buffers.** Bytes that `get` returns belong to the caller. A `Uint8Array` body must not change until `put`
 *    settles; a chunk of a streamed body may be reused as soon as the next chunk is asked for.
 *
 * What callers must do: a name is never also the folder of another (`a` and `a/b`). Servers that keep objects as plain files
 * refuse the second one.
 *
 * What no implementation guarantees: that a replaced object is read consistently by two calls. A reader that takes two
 * ranges of a name while it is replaced may get one of each. Names that are read in ranges are written once.
 */

/** Stores named, immutable bytes. The top of this file has the guarantees. */
export interface ObjectStore {
  /**
   * Stores one object, replacing what the name held unless `ifAbsent` is set.
   * Rejects with `exists` (only with `ifAbsent`), `full`, `bad_body`, `too_large` and what every call may reject with.
   */
  put(name: string, body: ObjectBody, options?: PutOptions): Promise<void>;

  /**
   * Reads an object, or exactly the asked range of it: never fewer bytes.
   * Rejects with `not_found`, or with `range` when the range does not lie inside the object.
   */
  get(name: string, options?: GetOptions): Promise<Uint8Array>;

  /** The object's size, or null when there is none of that name. */
  stat(name: string, options?: CallOptions): Promise<ObjectStat | null>;

  /**
   * All objects whose name starts with `prefix` (any string of name characters, not only whole parts; "" is all), in
   * ascending order, a page at a time: never the whole list in memory. `after` resumes behind a name, itself excluded.
   */
  list(prefix: string, options?: ListOptions): AsyncIterable<ObjectEntry>;

  /** Removes an object. Resolves too when there is none. */
  delete(name: string, options?: CallOptions): Promise<void>;
}

/**
 * What is stored: bytes, a stream that is read once, or a function that opens the same stream again. Only bytes and
 * functions can be sent a second time, so give a function (a spooled file: `() => createReadStream(path)`) wherever a
 * failed attempt should be repeated.
 */
export type ObjectBody = Uint8Array | AsyncIterable<Uint8Array> | (() => AsyncIterable<Uint8Array>);

export interface CallOptions {
  /** Ends the call early with `aborted`. A `put` or `delete` that is aborted may have happened, like a lost answer. */
  readonly signal?: AbortSignal | undefined;
}

export interface PutOptions extends CallOptions {
  /** Store only where the name holds nothing; else reject with `exists`. */
  readonly ifAbsent?: boolean | undefined;
  /**
   * Size of a streamed body in bytes, where known: saves S3 the multipart upload of a small object. A body of any
   * other size is refused with `bad_body` and nothing is stored.
   */
  readonly size?: number | undefined;
}

export interface GetOptions extends CallOptions {
  readonly range?: ByteRange | undefined;
}

export interface ListOptions extends CallOptions {
  readonly after?: string | undefined;
}

/** `length` bytes from `offset` on. A length of 0 is allowed up to and at the end of the object. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

export interface ObjectStat {
  readonly size: number;
}

export interface ObjectEntry extends ObjectStat {
  readonly name: string;
}

/**
 * Why a call failed.
 * - `not_found` no object of that name (only `get`)
 * - `exists` an `ifAbsent` put found one
 * - `range` the range does not lie inside the object: the caller is wrong, or the object was truncated
 * - `bad_name` the name or prefix is not allowed; nothing was asked of the store
 * - `bad_body` the streamed body failed (see `cause`) or was not of the announced size
 * - `too_large` the body is larger than `maxObjectBytes`
 * - `full` disk or quota exhausted; waiting a second will not help, a person has to act
 * - `denied` the store refuses these credentials or file permissions, or the name is locked by the store
 * - `corrupt` the bytes came back with a wrong checksum; a second read shows whether the connection or the storage is bad
 * - `unavailable` no answer, or the store asks to retry later; the work may have been done
 * - `unsupported` this store cannot give the guarantees above (rejected when it is opened)
 * - `aborted` the caller's signal
 */
export type ObjectStoreErrorCode =
  | "not_found"
  | "exists"
  | "range"
  | "bad_name"
  | "bad_body"
  | "too_large"
  | "full"
  | "denied"
  | "corrupt"
  | "unavailable"
  | "unsupported"
  | "aborted";

/** The only error that an object store's methods reject with. The message is for logs and never holds credentials. */
export class ObjectStoreError extends Error {
  override readonly name = "ObjectStoreError";
  readonly code: ObjectStoreErrorCode;

  constructor(code: ObjectStoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(`${code}: ${message}`, options);
    this.code = code;
  }

  /** Whether the same call may succeed a little later. */
  get retryable(): boolean {
    return this.code === "unavailable" || this.code === "corrupt";
  }
}

/** True for an `ObjectStoreError`, of the given code where one is given. */
export function isObjectStoreError(error: unknown, code?: ObjectStoreErrorCode): error is ObjectStoreError {
  return error instanceof ObjectStoreError && (code === undefined || error.code === code);
}

/** S3 allows 1024 bytes for prefix and name together; file systems 4096 for the whole path, Windows fewer. */
export const maxNameLength = 256;

/** A file system allows 255 bytes per part; eCryptfs, which encrypts names, 143. The file store adds a few bytes. */
export const maxNamePartLength = 128;

/** Sixteen of the largest packs. A body beyond this is a mistake, and `get` would hold all of it in memory. */
export const maxObjectBytes = 1024 * 1024 * 1024;

/** Starts with a letter or digit (no hidden file, no option), does not end with a dot (Windows drops it). */
const namePart = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9_-])?$/;

/** Device names of Windows, with or without an extension: opening one opens the device. */
const devicePart = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/;

const prefixCharacters = /^[a-z0-9._/-]*$/;

/**
 * Throws `bad_name` unless the name is one or more parts joined by `/`, each of `a-z 0-9 . _ -`, starting with a
 * letter or digit and not ending with a dot.
 *
 * @example assertObjectName("vaults/v-01/packs/4f1c09.pack");
 */
export function assertObjectName(name: string): void {
  if (name.length > maxNameLength) throw badName(name, `longer than ${maxNameLength} characters`);
  for (const part of name.split("/")) {
    if (part.length > maxNamePartLength) throw badName(name, `a part is longer than ${maxNamePartLength} characters`);
    if (!namePart.test(part)) throw badName(name, "a part is empty or has a character that is not allowed there");
    if (devicePart.test(part)) throw badName(name, "a part is a device name on Windows");
  }
}

/** Throws `bad_name` unless some name could start with the prefix. "" is allowed. */
export function assertListPrefix(prefix: string): void {
  if (prefix.length > maxNameLength) throw badName(prefix, `longer than ${maxNameLength} characters`);
  if (!prefixCharacters.test(prefix)) throw badName(prefix, "a prefix has a character that no name has");
  const parts = prefix.split("/");
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const isStart = isLast && (part === "" || namePart.test(`${part}0`));
    if (!isStart && (isLast || !namePart.test(part))) throw badName(prefix, "no name starts like this");
  }
}

/** Throws `range` unless the range is made of non-negative safe integers. Whether it fits the object, the store knows. */
export function assertByteRange(range: ByteRange): void {
  const { offset, length } = range;
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
    throw new ObjectStoreError("range", "offset and length must be non-negative integers");
  }
  if (!Number.isSafeInteger(offset + length)) throw new ObjectStoreError("range", "offset + length is too large");
}

function badName(name: string, why: string): ObjectStoreError {
  // Names are made by us and hold no personal data, but a wrong one may be anything: show little of it.
  return new ObjectStoreError("bad_name", `${JSON.stringify(name.slice(0, 64))}: ${why}`);
}
