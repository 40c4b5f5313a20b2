/**
 * What a test reads from the database of a service beside it. It keeps its connection: tests ask many times a second, and a process of
 * PostgreSQL for every question costs more than the answer. A database that was killed, or another one, gets a new connection.
 */

import pg from "pg";
import { connectionConfig } from "../kernel/database/pool.ts";
import type { SocketTarget } from "../kernel/database/target.ts";
import type { Cleanup } from "./database.ts";

interface Kept {
  readonly key: string;
  readonly client: pg.Client;
  readonly connected: Promise<unknown>;
  hasEnded: boolean;
}

export class OutsideView {
  #kept: Kept | null = null;

  constructor(cleanup: Cleanup) {
    cleanup.after(() => this.#close());
  }

  async rows<Row extends object>(target: SocketTarget, text: string, values: readonly unknown[]): Promise<Row[]> {
    const key = JSON.stringify(target);
    const known = this.#kept;
    if (known !== null && known.key === key && !known.hasEnded) {
      try {
        return await ask<Row>(known, text, values);
      } catch (error) {
        // What is wrong with the question itself is said again by no other connection.
        if (!known.hasEnded) throw error;
      }
    }
    return ask<Row>(await this.#newer(known, target, key), text, values);
  }

  /** A connection that is not the known one; several that ask at once share it. */
  async #newer(known: Kept | null, target: SocketTarget, key: string): Promise<Kept> {
    if (this.#kept !== null && this.#kept !== known) return this.#kept;
    const client = new pg.Client(connectionConfig(target));
    const opened: Kept = { key, client, connected: client.connect(), hasEnded: false };
    const end = () => {
      opened.hasEnded = true;
    };
    // Without a listener the event would end the process.
    client.on("error", end).on("end", end);
    opened.connected.catch(end);
    this.#kept = opened;
    await known?.client.end().catch(() => undefined);
    return opened;
  }

  async #close(): Promise<void> {
    await this.#kept?.client.end().catch(() => undefined);
  }
}

async function ask<Row extends object>({ client, connected }: Kept, text: string, values: readonly unknown[]) {
  await connected;
  return (await client.query<Row>(text, [...values])).rows;
}
