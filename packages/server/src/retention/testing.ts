/** What the tests of retention share: a vault whose snapshots are made on different days of the test clock. */

import assert from "node:assert/strict";
import { runTask, type SnapshotJson, type SnapshotTest, snapshotTest, tarOf } from "../snapshots/testing.ts";
import { type Bearer, tokenFor } from "../testing/accounts.ts";
import type { Cleanup } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import type { Sent, TestService } from "../testing/running.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { makeVault } from "../vaults/testing.ts";
import { applyRetention } from "./apply.ts";
import { assessSnapshot } from "./assess.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

type Headers = Readonly<Record<string, string>>;

export interface RetentionTest extends SnapshotTest {
  readonly vaultId: string;
  /** A new token of the account's first owner: tokens end when the clock moves. */
  owner(): Promise<Headers>;
  /** A new token of the client that backs up. */
  client(): Promise<Headers>;
  backUp(source: string, files: Readonly<Record<string, string | Buffer>>): Promise<string>;
  call(method: string, path: string, json?: unknown, headers?: Headers): Promise<Sent>;
  /** Puts a policy with the ETag that the present one has. */
  putPolicy(path: string, policy: object, headers?: Headers): Promise<Sent>;
  apply(): Promise<void>;
  /** Runs the job for another vault, without what follows it. */
  applyTo(vaultId: string): Promise<void>;
  wait(ms: number): void;
  status(id: string): Promise<unknown>;
  storedBytes(): Promise<number>;
}

export async function retentionTest(
  cleanup: Cleanup,
  settings: Readonly<Record<string, string>> = {},
): Promise<RetentionTest> {
  const env = await snapshotTest(cleanup, { EMANET_LIMIT_RESTORE_CREATE: "10000/60", ...settings });
  const { service, accountId, clientId } = env;
  const { personId } = await tokenFor(service, { accountId, role: "owner" });
  const as = async (wanted: Bearer) => (await tokenFor(service, { accountId, ...wanted })).auth;
  const owner = () => as({ personId: personId ?? "" });
  const client = () => as({ as: "client", kind: "api", clientId: clientId ?? "" });
  const vaultId = await makeVault(service, await owner(), "Saklama");
  const call: RetentionTest["call"] = async (method, path, json, headers) =>
    service.send(method, path, { headers: headers ?? (await owner()), ...(json !== undefined && { json }) });
  const applyTo = (id: string) => runTask(env, applyRetention, { accountId, vaultId: id });
  return {
    ...env,
    ...{ vaultId, owner, client, call, applyTo },
    async backUp(source, files) {
      const headers = { ...(await client()), "content-type": "application/x-tar" };
      const path = `/v1/snapshots?source=${source}&vault_id=${vaultId}`;
      const answer = await service.send("POST", path, { body: tarOf(files), headers });
      assert.equal(answer.status, 201, answer.body.toString());
      const { id } = answer.json as SnapshotJson;
      await jobsDone(service, "snapshots.verify");
      await runTask(env, assessSnapshot, { accountId, vaultId, snapshotId: id });
      return id;
    },
    async putPolicy(path, policy, headers) {
      const bearer = headers ?? (await owner());
      const before = await service.send("GET", path, { headers: bearer });
      return service.send("PUT", path, {
        json: policy,
        headers: { ...bearer, "if-match": String(before.headers.etag) },
      });
    },
    async apply() {
      await jobsDone(service, "retention.apply");
      // The service's own run may have come between, and delete what this one chose: then a job is tried again.
      await applyTo(vaultId).catch(async (error: unknown) => {
        if ((error as { code?: unknown }).code !== "conflict") throw error;
        await jobsDone(service, "retention.apply", "snapshots.prune_vault");
        await applyTo(vaultId);
      });
      // A prune that had to wait for other upkeep of the vault is tried again minutes later.
      const waiting = `select from emanet.jobs where task = 'snapshots.prune_vault' and worker is null and run_at > $1`;
      if ((await env.rows(waiting, [service.clock.now()])).length > 0) service.clock.advance(retryMs);
      await jobsDone(service, "snapshots.prune_vault").catch(async () => {
        service.clock.advance(retryMs);
        await jobsDone(service, "snapshots.prune_vault");
      });
    },
    wait: (ms) => service.clock.advance(ms),
    status: async (id) => {
      const { status, json } = await service.send("GET", `/v1/snapshots/${id}`, { headers: await owner() });
      return status === 200 ? json?.status : status;
    },
    async storedBytes() {
      const text = "select stored_bytes::float8 as bytes from emanet.vaults where id = $1";
      return (await env.rows<{ bytes: number }>(text, [vaultId]))[0]?.bytes ?? -1;
    },
  };
}

/** The first wait of a prune that failed. */
const retryMs = 5 * 60_000;

/** Changes a snapshot so that it can be accepted. */
export async function makeSuspicious({ database, clock }: TestService, id: string): Promise<string> {
  await storedRows(
    database,
    "update emanet.snapshots set suspicious_at = $2, assessed_at = $2, lost_files = 60, changed_files = 0 where id = $1",
    [id, clock.now()],
  );
  return id;
}
