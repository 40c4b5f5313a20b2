/**
 * Objects in this process's memory: for tests and for `memory:` trials. They end with the process: the store
 * keeps every guarantee of the port except durability.
 */

import {
  assertByteRange,
  assertListPrefix,
  assertObjectName,
  type CallOptions,
  type GetOptions,
  type ListOptions,
  type ObjectBody,
  type ObjectEntry,
  type ObjectStat,
  type ObjectStore,
  ObjectStoreError,
  type PutOptions,
} from "@emanet/engine/object-store";
import { collectBody, throwIfAborted } from "./body.ts";

/** An object store in memory. `objects` is the whole state: a test may look at it, copy it or damage it. */
export class MemoryStore implements ObjectStore {
  readonly objects: Map<string, Uint8Array>;

  constructor(objects: Iterable<readonly [string, Uint8Array]> = []) {
    this.objects = new Map(objects);
  }

  async put(name: string, body: ObjectBody, options: PutOptions = {}): Promise<void> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    const bytes = await collectBody(body, options);
    // No await between the check and the write, so exactly one put succeeds.
    if (options.ifAbsent && this.objects.has(name)) throw new ObjectStoreError("exists", name);
    this.objects.set(name, bytes);
  }

  async get(name: string, options: GetOptions = {}): Promise<Uint8Array> {
    assertObjectName(name);
    if (options.range !== undefined) assertByteRange(options.range);
    throwIfAborted(options.signal);
    const bytes = this.objects.get(name);
    if (bytes === undefined) throw new ObjectStoreError("not_found", name);
    const { offset, length } = options.range ?? { offset: 0, length: bytes.byteLength };
    if (offset + length > bytes.byteLength) {
      throw new ObjectStoreError("range", `${name} has ${bytes.byteLength} bytes, asked up to ${offset + length}`);
    }
    return new Uint8Array(bytes.subarray(offset, offset + length));
  }

  async stat(name: string, options: CallOptions = {}): Promise<ObjectStat | null> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    const bytes = this.objects.get(name);
    return bytes === undefined ? null : { size: bytes.byteLength };
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<ObjectEntry, void> {
    assertListPrefix(prefix);
    const { after = "", signal } = options;
    assertListPrefix(after);
    throwIfAborted(signal);
    const names = [...this.objects.keys()].filter((name) => name.startsWith(prefix) && name > after).sort();
    for (const name of names) {
      throwIfAborted(signal);
      const size = this.objects.get(name)?.byteLength;
      if (size !== undefined) yield { name, size };
    }
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    this.objects.delete(name);
  }
}
