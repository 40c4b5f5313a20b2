/** A service that is started again on the same data folder, with this database or another one, and the commands of recovery on it. */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { readConfig } from "../../../packages/server/src/config.ts";
import { tarOf } from "../../../packages/server/src/snapshots/testing.ts";
import type { Cleanup, TestDatabase } from "../../../packages/server/src/testing/database.ts";
import { noSignInLimits, readFirstRun } from "../../../packages/server/src/testing/people.ts";
import { storedRows } from "../../../packages/server/src/testing/rows.ts";
import { type Sent, startTestService, type TestService } from "../../../packages/server/src/testing/running.ts";

export const settings = {
  ...noSignInLimits,
  EMANET_LIMIT_SNAPSHOTS_CREATE: "10000/60",
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "10000/60",
};

export interface Kept {
  readonly database: TestDatabase;
  readonly dataDir: string;
  readonly clock?: TestService["clock"];
}

/** A service, and a program of the demo account with the secret that it got at the first start. */
export async function startWith(t: Cleanup, kept: Kept) {
  const service = await startTestService(t, { ...kept, settings });
  const { demo } = await readFirstRun(kept.dataDir);
  const form = `grant_type=client_credentials&client_id=${demo.client_id}&client_secret=${demo.client_secret}`;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await service.send("POST", "/oauth2/token", { headers, body: form });
  assert.equal(answer.status, 200, answer.body.toString());
  const auth = { authorization: `Bearer ${String(answer.json?.access_token)}` };
  const get = (at: string) => service.send("GET", at, { headers: auth });
  return {
    ...{ service, demo, auth, get },
    async upload(query: string, files: Readonly<Record<string, string>>): Promise<string> {
      const sent = await service.send("POST", `/v1/snapshots?${query}`, {
        ...{ body: tarOf(files), headers: { ...auth, "content-type": "application/x-tar" } },
      });
      assert.equal(sent.status, 201, sent.body.toString());
      return String(sent.json?.id);
    },
    /** What a customer sees of a snapshot, and all of its bytes. */
    async shown(id: string) {
      const { json } = await get(`/v1/snapshots/${id}`);
      const { label, source, size_bytes, file_count, root_hash, metadata, external_reference } = json ?? {};
      const archive: Sent = await get(`/v1/snapshots/${id}/archive?format=tar`);
      assert.equal(archive.status, 200, archive.body.toString());
      const about = { label, source, size_bytes, file_count, root_hash, metadata, external_reference };
      return { ...about, archive: archive.body.toString("base64") };
    },
    /** Until the store has a record of everything that changed. */
    async recorded() {
      const changes = () => storedRows(service.database, "select id from emanet.account_changes");
      await inNextMinutes(service, async () => (await changes()).length === 0);
    },
    async beaten() {
      const beat = async () =>
        Number((await storedRows<{ beat: string }>(service.database, "select beat from emanet.store_beat"))[0]?.beat);
      const before = await beat();
      await inNextMinutes(service, async () => (await beat()) > before);
      await inNextMinutes(service, async () => (await beat()) > before + 1);
    },
  };
}

/** Between two looks, so that they do not take the CPU time that the service needs for what is waited for. */
const lookMs = 5;
/** Looks at the database so often before the clock is moved again: tokens live for minutes. */
const looksPerMinute = 200;

/** Moves the clock by a minute, and again if nothing has come of it. */
async function inNextMinutes({ clock }: TestService, isDone: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; ; looks++) {
    if (looks % looksPerMinute === 0) clock.advance(60_000);
    if (await isDone()) return;
    await delay(lookMs);
  }
}

export function configOf({ database: { target }, dataDir }: Kept, more: Readonly<Record<string, string>> = {}) {
  const host = encodeURIComponent(target.host);
  return readConfig({
    EMANET_PROFILE: "sandbox",
    EMANET_DATA_DIR: dataDir,
    EMANET_LOG_LEVEL: "silent",
    EMANET_DATABASE_URL: `postgres://${target.user}@localhost:${target.port}/${target.database}?host=${host}`,
    ...more,
  });
}

export const jsonOutput = { json: true, say: () => undefined } as const;

interface Outcome {
  readonly accounts: number;
  readonly whole: boolean;
  readonly damaged_records: readonly string[];
  readonly vaults: readonly {
    readonly vault_id: string;
    readonly snapshots: number;
    readonly hidden: readonly string[];
    readonly missing: readonly string[];
    readonly removed: number;
  }[];
}

export const parsed = ({ text }: { readonly text: string }) => JSON.parse(text) as Outcome;

export async function vaultOf({ database }: TestService, accountId: string): Promise<string> {
  const query = "select id from emanet.vaults where account_id = $1 and kind = 'default'";
  const [vault] = await storedRows<{ id: string }>(database, query, [accountId]);
  return vault?.id ?? assert.fail("no default vault");
}
