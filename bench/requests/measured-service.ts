/** Starts the service that is measured, with a page of notes and a token of the demo account's program. */

import { readFile } from "node:fs/promises";
import https from "node:https";
import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import type { SocketTarget } from "../../packages/server/src/kernel/database/target.ts";
import { createNotesTable } from "../../packages/server/src/testing/notes.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { type Program, startProgram } from "./processes.ts";

export interface MeasuredService {
  readonly program: Program;
  readonly url: string;
  readonly ca: string;
  readonly noteId: string;
  /** A token lives for a quarter of an hour. */
  newToken(): Promise<string>;
}

export interface ServiceOptions {
  /** What the service keeps of each request, to test a test. */
  readonly leakBytes?: number;
  /** Flags of Node. */
  readonly flags?: readonly string[];
}

export async function startService(
  database: SocketTarget,
  folder: string,
  { leakBytes = 0, flags = [] }: ServiceOptions = {},
): Promise<MeasuredService> {
  await withConnection(database, createNotesTable);
  const settings = {
    EMANET_PROFILE: "local",
    EMANET_DATA_DIR: folder,
    EMANET_LISTEN: "127.0.0.1:0",
    EMANET_METRICS_LISTEN: "127.0.0.1:0",
  };
  const args = [JSON.stringify(settings), JSON.stringify(database), String(leakBytes)];
  const program = await startProgram("serve.ts", args, flags);
  const [url = "", caFile = ""] = program.ready;
  const ca = await readFile(caFile, "utf8");
  const { demo } = await readFirstRun(folder);
  const noteId = await insertNotes(database, demo.account_id);
  return { program, url, ca, noteId, newToken: () => tokenOf(url, ca, demo) };
}

/** A page of notes. Returns the id of one. */
async function insertNotes(database: SocketTarget, accountId: string): Promise<string> {
  return withConnection(database, async (client) => {
    await client.query(`select set_config('emanet.scope', 'system', false)`);
    const { rows } = await client.query<{ id: string }>(
      `insert into emanet.test_notes select gen_random_uuid(), $1, 'note ' || n, now() - n * interval '1 minute'
         from generate_series(1, 25) n returning id`,
      [accountId],
    );
    return rows[0]?.id ?? "";
  });
}

/** A token of a client of an account. */
export async function tokenOf(
  url: string,
  ca: string,
  { client_id: id, client_secret: secret }: { readonly client_id: string; readonly client_secret: string },
): Promise<string> {
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id: id, client_secret: secret });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = https.request(`${url}/oauth2/token`, { method: "POST", ca, headers, agent: false }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () => resolve(text));
  });
  request.on("error", reject).end(body.toString());
  return (JSON.parse(await promise) as { access_token: string }).access_token;
}
