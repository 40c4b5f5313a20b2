/** What the tests of restores share. */

import assert from "node:assert/strict";
import type { SnapshotTest } from "../snapshots/testing.ts";

export interface RestoreJson {
  readonly id: string;
  readonly status: string;
  readonly warnings: readonly { readonly path: string; readonly code: string }[];
  readonly failure: { readonly code: string } | null;
  readonly download: { readonly size_bytes: number; readonly expired: boolean } | null;
  readonly [member: string]: unknown;
}

/** The limit has a test of its own. */
export const manyRestores = { EMANET_LIMIT_RESTORE_CREATE: "10000/3600" };

type Headers = Readonly<Record<string, string>>;

/** Starts a restore to a download. */
export async function startRestore(env: SnapshotTest, json: object, given?: Headers): Promise<string> {
  const headers = given ?? (await env.as({ as: "client", kind: "api" }));
  const body = { target: { kind: "download", format: "tar" }, ...json };
  const answer = await env.service.send("POST", "/v1/restore", { json: body, headers });
  assert.equal(answer.status, 202, answer.body.toString());
  assert.equal(answer.headers.location, `/v1/restore/${answer.json?.id}`);
  return String(answer.json?.id);
}

export async function readRestore(env: SnapshotTest, id: string): Promise<RestoreJson> {
  const headers = await env.as({ as: "client", kind: "api" });
  const answer = await env.service.send("GET", `/v1/restore/${id}`, { headers });
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json as RestoreJson;
}

/** The restore, once it has ended. */
export async function endedRestore(env: SnapshotTest, id: string): Promise<RestoreJson> {
  await env.until(async () => {
    const [row] = await env.rows<{ state: string }>("select state from emanet.restores where id = $1", [id]);
    return row !== undefined && !["pending", "running"].includes(row.state) ? row : null;
  });
  return readRestore(env, id);
}

/** Starts a restore and waits for its end. */
export async function restored(env: SnapshotTest, json: object): Promise<RestoreJson> {
  return endedRestore(env, await startRestore(env, json));
}

export async function download(env: SnapshotTest, id: string, range?: string) {
  const headers = await env.as({ as: "client", kind: "api" });
  return env.service.send("GET", `/v1/restore/${id}/download`, { headers: { ...headers, ...(range && { range }) } });
}

/** Makes a completed restore what it was while its job ran, after so many parts. Its job is gone. */
export async function backTo(env: SnapshotTest, id: string, parts: number): Promise<void> {
  await env.rows("delete from emanet.restore_parts where restore_id = $1 and part >= $2", [id, parts]);
  await env.rows(
    `update emanet.restores set state = 'running', archive_bytes = null, layout = null, ended_at = null, expires_at = null,
       bytes_restored = 123456, files_restored = 7 where id = $1`,
    [id],
  );
}
