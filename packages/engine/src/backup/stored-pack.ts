/** A client's pack in the object store: it is put once, and what it holds is read from its footer. */

import { FormatError, sameBytes } from "../format/bytes.ts";
import type { VaultNames } from "../format/object-names.ts";
import type { PackTable, VaultIdentity } from "../format/pack.ts";
import { packHeaderLength, packTrailerLength, readPackTable, sessionOfPack } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { signatureLength } from "../format/signing.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";

/** Bytes at the end of a pack that are read at once. The footer of a usual pack is a few kilobytes. */
const tailBytes = 32 * 1024;

/** The footer's signature and the trailer. The signature is over the header and all frame ids, so it names the content. */
const endLength = signatureLength + packTrailerLength;

const packName = /^[0-9a-f]{32}$/;

/** Throws `FormatError` unless a client may give a pack this name. */
export function assertPackName(name: string): void {
  if (!packName.test(name)) throw new FormatError("a pack's name is not 16 bytes in hexadecimal");
}

/** The session that an upload has, as the headers of its packs name it. */
type UploadSession = Pick<SessionHeader, "session" | "nonce">;

/**
 * Stores a pack. Nothing changes if the store has the same pack already; another pack of that name is an error. So is a new
 * pack that begins with the header of another session: a rebuild would take it for a pack of that session.
 */
export async function putPackOnce(
  store: ObjectStore,
  object: string,
  body: AsyncIterable<Uint8Array>,
  upload: UploadSession,
): Promise<void> {
  const read = new ObservedBody(body, upload);
  try {
    await store.put(object, read, { ifAbsent: true });
  } catch (failure) {
    const error =
      isObjectStoreError(failure, "bad_body") && failure.cause instanceof FormatError ? failure.cause : failure;
    const isStored = error instanceof OtherSessionError && (await store.stat(object)) !== null;
    if (!isStored && !isObjectStoreError(error, "exists")) {
      await read.close();
      throw error;
    }
    await read.drain();
    const stat = await store.stat(object);
    const range = { offset: read.size - endLength, length: endLength };
    const isSame =
      stat?.size === read.size && range.offset >= 0 && sameBytes(await store.get(object, { range }), read.end);
    if (!isSame) throw new FormatError("another pack has this name");
  }
}

/** Packs of a unit: a client of ours has a handful. */
const maxPacksPerUnit = 1024;

/** Footers that are read at the same time. A client's footer may be megabytes long. */
const footersAtOnce = 8;

/** Reads and verifies the footers of a unit's packs. */
export async function readStoredPacks(
  { store, names }: { readonly store: ObjectStore; readonly names: VaultNames },
  packs: readonly string[],
  identity: VaultIdentity,
): Promise<readonly PackTable[]> {
  if (packs.length > maxPacksPerUnit) throw new FormatError("a unit has too many packs");
  if (new Set(packs).size !== packs.length) throw new FormatError("a unit names a pack twice");
  for (const name of packs) assertPackName(name);
  const tables: PackTable[] = [];
  for (let at = 0; at < packs.length; at += footersAtOnce) {
    const group = packs.slice(at, at + footersAtOnce);
    tables.push(...(await Promise.all(group.map((name) => readStoredPack(store, names.pack(name), name, identity)))));
  }
  return tables;
}

/** Reads and verifies the footer of a stored pack: two small reads at the same time. */
export async function readStoredPack(
  store: ObjectStore,
  object: string,
  name: string,
  identity: VaultIdentity,
): Promise<PackTable> {
  const notStored = () => new FormatError(`pack ${name} is not stored`);
  const size = (await store.stat(object))?.size ?? null;
  if (size === null) throw notStored();
  if (size < packHeaderLength + packTrailerLength) throw new FormatError("a pack is too short");
  const tailAt = Math.max(0, size - tailBytes);
  const get = async (offset: number, length: number) => {
    try {
      return await store.get(object, { range: { offset, length } });
    } catch (error) {
      // It was removed after its size was asked for.
      throw isObjectStoreError(error, "not_found") ? notStored() : error;
    }
  };
  const [head, tail] = await Promise.all([get(0, packHeaderLength), get(tailAt, size - tailAt)]);
  const read = async (offset: number, length: number) => {
    if (offset >= tailAt) return tail.subarray(offset - tailAt, offset - tailAt + length);
    return offset === 0 && length === head.length ? head : get(offset, length);
  };
  return readPackTable(name, size, read, identity);
}

/** A pack begins with the header of another session than that of the upload. */
class OtherSessionError extends FormatError {}

/**
 * A body that is passed on, with its size and its last bytes. It fails when its head is not that of a pack of the upload. It can
 * be read to its end after the store has stopped.
 */
class ObservedBody implements AsyncIterable<Uint8Array> {
  readonly #body: AsyncIterator<Uint8Array>;
  /** The last bytes so far. */
  end = Buffer.alloc(0);
  size = 0;
  readonly #upload: UploadSession;
  /** The first bytes, until the head of the pack is whole and was checked. */
  #head: Buffer | null = Buffer.alloc(0);
  #isOver = false;

  constructor(body: AsyncIterable<Uint8Array>, upload: UploadSession) {
    this.#body = body[Symbol.asyncIterator]();
    this.#upload = upload;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return { next: () => this.#nextOfUpload(), return: async () => ({ done: true, value: undefined }) };
  }

  async #nextOfUpload(): Promise<IteratorResult<Uint8Array>> {
    const result = await this.#next();
    if (this.#head === null) return result;
    if (result.done === true) throw new OtherSessionError("a pack is too short");
    this.#head = Buffer.concat([this.#head, result.value.subarray(0, packHeaderLength - this.#head.length)]);
    if (this.#head.length < packHeaderLength) return result;
    const { session, nonce } = sessionOfPack(this.#head);
    if (session !== this.#upload.session || nonce !== this.#upload.nonce)
      throw new OtherSessionError(`a pack of session ${session} does not belong to the upload`);
    this.#head = null;
    return result;
  }

  async drain(): Promise<void> {
    while (!this.#isOver) await this.#next();
  }

  async close(): Promise<void> {
    if (!this.#isOver) await this.#body.return?.();
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    const result = await this.#body.next();
    if (result.done === true) this.#isOver = true;
    else {
      this.size += result.value.length;
      const last = result.value.subarray(Math.max(0, result.value.length - endLength));
      this.end = Buffer.concat([this.end.subarray(Math.max(0, this.end.length + last.length - endLength)), last]);
    }
    return result;
  }
}
