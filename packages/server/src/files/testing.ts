/** What the tests of snapshots file by file share. */

import assert from "node:assert/strict";
import { runTask, type SnapshotJson, type SnapshotTest } from "../snapshots/testing.ts";
import type { Sent } from "../testing/running.ts";
import { settleFiles } from "./jobs.ts";

type Headers = Readonly<Record<string, string>>;

export interface FileTest {
  /** A new snapshot of a source. */
  create(source: string): Promise<string>;
  /** The path as it is in the URL. */
  put(id: string, path: string, body?: string | Uint8Array, headers?: Headers): Promise<Sent>;
  begin(id: string, path: string, length: number, headers?: Headers): Promise<Sent>;
  patch(id: string, path: string, offset: number, body: string | Uint8Array, headers?: Headers): Promise<Sent>;
  head(id: string, path: string): Promise<Sent>;
  complete(id: string, headers?: Headers): Promise<Sent>;
  /** A completed snapshot of these files. */
  completed(
    source: string,
    files: Readonly<Record<string, string | Uint8Array>>,
    headers?: Headers,
  ): Promise<SnapshotJson>;
  read(id: string, path: string): Promise<string>;
  /** Rows and sessions that are left of a snapshot. */
  left(id: string): Promise<Readonly<Record<string, number>>>;
  /** The background work, once. */
  settle(): Promise<void>;
}

const tus = { "tus-resumable": "1.0.0" };
const octets = { "content-type": "application/offset+octet-stream" };

export function fileTest(env: SnapshotTest): FileTest {
  const { service, auth } = env;
  const test: FileTest = {
    async create(source) {
      const answer = await env.send("POST", "/v1/snapshots", { source });
      assert.deepEqual([answer.status, answer.json?.status], [201, "queued"], answer.body.toString());
      return String(answer.json?.id);
    },
    put: (id, path, body = "merhaba", headers = {}) =>
      service.send("PUT", `/v1/snapshots/${id}/files/${path}`, { body, headers: { ...auth, ...headers } }),
    begin: (id, path, length, headers = {}) =>
      service.send("POST", `/v1/snapshots/${id}/files/${path}`, {
        headers: { ...auth, ...tus, "upload-length": String(length), ...headers },
      }),
    patch: (id, path, offset, body, headers = {}) =>
      service.send("PATCH", `/v1/snapshots/${id}/files/${path}`, {
        body,
        headers: { ...auth, ...tus, ...octets, "upload-offset": String(offset), ...headers },
      }),
    head: (id, path) => service.send("HEAD", `/v1/snapshots/${id}/files/${path}`, { headers: { ...auth, ...tus } }),
    complete: (id, headers = {}) =>
      service.send("POST", `/v1/snapshots/${id}/complete`, { headers: { ...auth, ...headers } }),
    async completed(source, files, headers) {
      const id = await test.create(source);
      await Promise.all(
        Object.entries(files).map(async ([path, body]) => {
          const answer = await test.put(id, path, body, headers);
          assert.equal(answer.status, 201, answer.body.toString());
        }),
      );
      const answer = await test.complete(id);
      assert.equal(answer.status, 200, answer.body.toString());
      return answer.json as SnapshotJson;
    },
    read: async (id, path) => (await env.get(`/v1/snapshots/${id}/files/${path}`)).body.toString(),
    async left(id) {
      const count = async (table: string) => {
        const rows = await env.rows<{ count: string }>(`select count(*) from emanet.${table} where snapshot_id = $1`, [
          id,
        ]);
        return Number(rows[0]?.count);
      };
      const uploads = await env.rows<{ count: string }>(
        "select count(*) from emanet.catalog_uploads where upload like $1 || '%'",
        [id],
      );
      return {
        files: await count("snapshot_files"),
        parts: await count("snapshot_file_parts"),
        fileUploads: await count("file_uploads"),
        sessions: await count("file_sessions"),
        uploads: Number(uploads[0]?.count),
      };
    },
    settle: () => runTask(env, settleFiles, {}),
  };
  return test;
}

export const nothingLeft = { files: 0, parts: 0, fileUploads: 0, sessions: 0, uploads: 0 };
