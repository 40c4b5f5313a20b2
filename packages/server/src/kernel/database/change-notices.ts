/**
 * Changes that other processes commit. Triggers announce them (migration `…_change_notices.sql`). A *notice* has two words:
 * what changed, and the id of the account whose rows changed, or `*` for any. A transaction reads the notices of its own
 * changes at its commit (`kernel/tx.ts`); other processes get them by LISTEN.
 *
 * A lost connection is opened again. Notices in between are lost, so after it everything counts as changed. A listener
 * must not depend on notices alone for a promise about time.
 */

import pg from "pg";
import { errorFields, type Log } from "../log.ts";
import { appRole, connectionConfig } from "./pool.ts";
import type { DatabaseTarget } from "./target.ts";

export interface ChangeNotice {
  /** What changed, as the triggers name it: for example `subject`. */
  readonly what: string;
  /** The id of the account that it is about; null: any. */
  readonly accountId: string | null;
}

export interface ChangeSubscriptionOptions {
  readonly target: DatabaseTarget;
  readonly log: Log;
  readonly onNotice: (notice: ChangeNotice) => void;
  /** After a connection was lost: anything may have changed. */
  readonly onMissed: () => void;
}

/** The channel of the triggers. */
const channel = "emanet_changes";

/** Between two attempts to connect. Changes that matter have bounds of their own meanwhile. */
const reconnectMs = 500;

/** After so much silence the system asks whether the peer is still there. */
const keepAliveDelayMs = 10_000;

/** An open subscription to the notices of other processes. */
export interface ChangeSubscription {
  close(): Promise<void>;
}

/** Listens until it is closed. Resolves when the first connection listens. */
export async function listenForChanges(options: ChangeSubscriptionOptions): Promise<ChangeSubscription> {
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const open = () => openConnection(options, onLost);
  let client = open();
  function onLost(): void {
    if (isClosed) return;
    timer = setTimeout(() => {
      client = open();
      client.then(options.onMissed, onLost);
    }, reconnectMs).unref();
  }
  await client;
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await client.then((open) => open.end()).catch(() => undefined);
    },
  };
}

async function openConnection(
  { target, log, onNotice }: ChangeSubscriptionOptions,
  onLost: () => void,
): Promise<pg.Client> {
  const client = new pg.Client({
    ...connectionConfig(target, { role: appRole }),
    application_name: "emanet changes",
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
  });
  client.on("error", (error) => log.warn("database_connection_lost", errorFields(error)));
  client.on("notification", ({ payload = "" }) => {
    for (const notice of parseNotices(payload)) onNotice(notice);
  });
  try {
    await client.connect();
    await client.query(`listen ${channel}`);
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
  client.once("end", onLost);
  return client;
}

/** Reads notices, one per line. */
export function parseNotices(text: string): ChangeNotice[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [what = "", which = "*"] = line.split(" ");
      return { what, accountId: which === "*" ? null : which };
    });
}
