/** The objects that a rebuild does not accept. */

import { FormatError } from "../format/bytes.ts";
import { isObjectStoreError } from "../object-store.ts";

export interface RefusedObject {
  readonly name: string;
  readonly reason: string;
}

export class Refusals {
  readonly #list: RefusedObject[] = [];

  get list(): readonly RefusedObject[] {
    return this.#list;
  }

  /** Adds an object. Only the first reason of each object is kept. */
  add(name: string, reason: string): void {
    if (!this.#list.some((each) => each.name === name)) this.#list.push({ name, reason });
  }

  /** Runs `read`. Where the object is damaged or missing, adds it and returns null. */
  async accept<T>(name: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      const isMissing = isObjectStoreError(error, "not_found") || isObjectStoreError(error, "range");
      if (!isMissing && !(error instanceof FormatError)) throw error;
      this.add(name, error.message);
      return null;
    }
  }
}
