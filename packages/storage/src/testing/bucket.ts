/** A bucket on its own versitygw server; both are removed when the test ends. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { openS3Store, type S3Store } from "../s3.ts";
import { parseS3Url } from "../s3-url.ts";
import { startVersitygw, type Versitygw } from "./versitygw.ts";

export interface TestBucket {
  /** Where the server listens; the same after a restart. */
  readonly port: number;
  readonly credentials: Versitygw["credentials"];
  /** Another prefix is another store in the same bucket; another port is for a proxy. */
  open(options?: { prefix?: string; port?: number; now?: () => number; idleLimitMs?: number }): Promise<S3Store>;
  /** The S3 client itself, for what the port does not have. */
  client(): S3Client;
  kill(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function makeBucket(program: string): Promise<TestBucket> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "emanet-s3-"));
  await mkdir(path.join(folder, "bucket"));
  let server = await startVersitygw(program, folder);
  const { endpoint, credentials } = server;
  const opened: { close(): Promise<void> }[] = [];
  return {
    port: Number(new URL(endpoint).port),
    credentials,
    async open({ prefix = "some/prefix", port, now = Date.now, idleLimitMs } = {}) {
      const address = port === undefined ? endpoint : `http://127.0.0.1:${port}`;
      const location = parseS3Url(`s3://bucket/${prefix}?endpoint=${encodeURIComponent(address)}`);
      const store = await openS3Store({ location, credentials, now, idleLimitMs });
      opened.push(store);
      return store;
    },
    client() {
      const client = new S3Client({ endpoint, credentials, region: "us-east-1", forcePathStyle: true });
      opened.push({ close: async () => client.destroy() });
      return client;
    },
    kill: () => server.kill(),
    async restart() {
      server = await startVersitygw(program, folder, Number(new URL(endpoint).port));
    },
    async close() {
      for (const one of opened) await one.close();
      await server.kill();
      await rm(folder, { recursive: true });
    },
  };
}
