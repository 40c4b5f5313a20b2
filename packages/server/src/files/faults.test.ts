/** Faults of snapshots file by file: a store that fails, a process that dies, several processes. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ObjectStoreError } from "@emanet/engine/object-store";
import { codeOf } from "../agents/testing.ts";
import type { Services } from "../kernel/domain-services.ts";
import { runTask, snapshotTest } from "../snapshots/testing.ts";
import { startTestService } from "../testing/running.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { completeSnapshot } from "./jobs.ts";
import { fileTest, nothingLeft } from "./testing.ts";

const broken = { manifests: false };
/** The store of manifests waits for it. */
const gate = { opened: Promise.resolve() };
/** Of the answer to a completion. */
const wait = { ms: 20_000 };
const settings = {
  EMANET_STORAGE: `file:${await temporaryFolder({ after })}`,
  EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  EMANET_PUBLIC_URL: "https://emanet.example",
};
const env = await snapshotTest({ after }, settings, { services: withBrokenStore });
const files = fileTest(env);

/** A store that refuses manifests for a while, or takes long. */
function withBrokenStore(real: Services): Services {
  const open: Services["vaults"]["open"] = async (...of) => {
    const vault = await real.vaults.open(...of);
    const put: typeof vault.store.put = async (name, ...more) => {
      if (name.startsWith(vault.names.snapshots)) {
        if (broken.manifests) throw new ObjectStoreError("unavailable", "no answer");
        await gate.opened;
      }
      return vault.store.put(name, ...more);
    };
    const store = new Proxy(vault.store, {
      get: (target, name) => {
        if (name === "put") return put;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    return { ...vault, store };
  };
  const files = {
    ...real.files,
    get completionWaitMs() {
      return wait.ms;
    },
  };
  return { ...real, files, vaults: { ...real.vaults, open } };
}

const drafts = async (id: string) =>
  (await env.rows<{ draft: Buffer | null }>("select draft from emanet.snapshots where id = $1", [id]))[0]?.draft ??
  null;

test("503 where the store fails; the next attempt stores the same manifest, and until then no file is taken", async () => {
  const id = await files.create("a");
  await files.put(id, "a", "1");
  broken.manifests = true;
  const failed = await files.complete(id);
  assert.equal(codeOf(failed), "503 unavailable");
  const draft = await drafts(id);
  assert.ok(draft !== null);
  assert.equal(codeOf(await files.put(id, "b")), "409 state_conflict");
  assert.equal(codeOf(await files.complete(id)), "503 unavailable");
  assert.deepEqual(await drafts(id), draft);
  broken.manifests = false;
  const done = await files.complete(id);
  assert.deepEqual([done.status, done.json?.file_count], [200, 1]);
  await files.settle();
  assert.deepEqual(await files.left(id), nothingLeft);
});

test("a completion whose process died goes on by itself", async () => {
  const id = await files.create("b");
  await files.put(id, "a", "2");
  // As a process leaves it that died right after it had closed the upload.
  const died = "update emanet.snapshots set closed_at = now(), alive_at = now() - interval '2 minutes' where id = $1";
  await env.rows(died, [id]);
  await files.settle();
  await jobsDone(env.service, "files.complete");
  assert.equal((await env.get(`/v1/snapshots/${id}`)).json?.status, "completed");
});

test("a completion that another process has is not taken from it, and `respond-async` does not wait", async () => {
  const id = await files.create("c");
  await files.put(id, "a", "3");
  await env.rows("update emanet.snapshots set closed_at = now(), alive_at = now() where id = $1", [id]);
  const answer = await files.complete(id, { prefer: "respond-async" });
  assert.deepEqual([answer.status, answer.json?.status, answer.headers["retry-after"]], [202, "running", "2"]);
  const [row] = await env.rows<{ vault_id: string }>("select vault_id from emanet.snapshots where id = $1", [id]);
  const payload = { accountId: env.accountId, vaultId: row?.vault_id ?? "", snapshotId: id };
  await runTask(env, completeSnapshot, payload);
  assert.equal((await env.get(`/v1/snapshots/${id}`)).json?.status, "running");
  await env.rows("update emanet.snapshots set alive_at = now() - interval '2 minutes' where id = $1", [id]);
  assert.equal((await files.complete(id)).status, 200);
});

test("any process takes any file, and any process completes the snapshot", async (t) => {
  const { database, clock } = env.service;
  const other = await startTestService(t, { database, clock, settings });
  const id = await files.create("d");
  const paths = Array.from({ length: 10 }, (_, i) => `d${i % 2}/f${i}`);
  for (const [i, path] of paths.entries()) {
    const service = i % 2 === 0 ? env.service : other;
    const call = { body: path.repeat(500), headers: env.auth };
    assert.equal((await service.send("PUT", `/v1/snapshots/${id}/files/${path}`, call)).status, 201);
  }
  const done = await other.send("POST", `/v1/snapshots/${id}/complete`, { headers: env.auth });
  assert.deepEqual([done.status, done.json?.file_count], [200, 10]);
  for (const path of paths) assert.equal(await files.read(id, path), path.repeat(500));
});

test("content that can no longer be read fails the snapshot instead of being left out", async () => {
  const id = await files.create("e");
  await files.put(id, "a", "eins".repeat(1000));
  const [row] = await env.rows<{ vault_id: string }>("select vault_id from emanet.snapshots where id = $1", [id]);
  const vault = await env.service.running.services?.vaults.open(env.accountId, row?.vault_id ?? "");
  assert.ok(vault !== undefined);
  const frames = await Array.fromAsync(vault.catalog.allFrames());
  const newest = Math.max(...frames.map(({ session }) => session));
  const lost = frames.filter(({ session }) => session === newest);
  await Promise.all(
    [...new Set(lost.map(({ pack }) => pack))].map((pack) => vault.store.delete(vault.names.pack(pack))),
  );
  await vault.catalog.setDamaged(lost, true);
  assert.equal(codeOf(await files.complete(id)), "409 state_conflict");
  const { status, failure } = (await env.get(`/v1/snapshots/${id}`)).json ?? {};
  assert.deepEqual([status, (failure as { code: string }).code], ["failed", "verification_failed"]);
});

test("202 where it takes longer than the wait; it goes on, repeated calls wait for it, and the last one has the snapshot", async () => {
  const id = await files.create("slow");
  await files.put(id, "a", "1");
  const { promise, resolve: open } = Promise.withResolvers<void>();
  gate.opened = promise;
  wait.ms = 250;
  for (let call = 0; call < 2; call++) {
    const answer = await files.complete(id);
    assert.deepEqual([answer.status, answer.json?.status], [202, "running"], answer.body.toString());
    assert.match(answer.headers["retry-after"] ?? "", /^\d+$/);
  }
  assert.equal(codeOf(await files.put(id, "b")), "409 state_conflict");
  assert.equal((await env.get(`/v1/snapshots/${id}`)).json?.status, "running");
  wait.ms = 20_000;
  const waiting = files.complete(id);
  open();
  const done = await waiting;
  assert.deepEqual([done.status, done.json?.status, done.json?.file_count], [200, "completed", 1]);
  assert.equal((await env.get(`/v1/snapshots/${id}`)).json?.status, "completed");
  assert.equal(await files.read(id, "a"), "1");
});
