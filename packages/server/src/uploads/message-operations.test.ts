import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { type CatalogErrorCode, FormatError, type UploadTarget } from "@emanet/engine";
import { makeClient } from "../accounts/testing.ts";
import { codeOf, proofOf } from "../agents/testing.ts";
import { endUploads } from "../snapshots/jobs.ts";
import { idleUploadMs } from "../snapshots/rules.ts";
import { runTask } from "../snapshots/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { listIn, objectIn } from "../testing/lists.ts";
import { storedRows } from "../testing/rows.ts";
import { startTestService } from "../testing/running.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { makeVault } from "../vaults/testing.ts";
import {
  backUp,
  createSnapshot,
  HttpProblem,
  inTurn,
  inVault,
  noUploadLimits,
  openAgent,
  remoteTarget,
  uploadUntil,
  type VaultKeysJson,
} from "./testing.ts";

const service = await startTestService({ after }, { settings: noUploadLimits });
const services = inTurn([service]);
const scratch = await temporaryFolder({ after });
const messageType = "application/vnd.emanet.upload";
const operations = ["begin", "ordinals", "offer", "nodes", "register", "renew", "complete", "abandon"];

/** A folder with a large and some small files, their bytes by the seed. */
function folderOf(seed: number): string {
  const folder = path.join(scratch, String(seed));
  mkdirSync(path.join(folder, "alt"), { recursive: true });
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16));
  writeFileSync(path.join(folder, "büyük"), cipher.update(Buffer.alloc(400_000)));
  for (let i = 0; i < 5; i++) writeFileSync(path.join(folder, "alt", `f${i}`), cipher.update(Buffer.alloc(900)));
  return folder;
}

async function newAccount() {
  const owner = await tokenFor(service);
  return { owner, accountId: owner.accountId ?? "" };
}

async function statusOf(id: string) {
  const [row] = await storedRows<{ state: string; failure_code: string | null }>(
    service.database,
    "select state, failure_code from emanet.snapshots where id = $1",
    [id],
  );
  return `${row?.state} ${row?.failure_code ?? ""}`.trim();
}

const send = (auth: Readonly<Record<string, string>>, id: string, operation: string, body: Uint8Array = Buffer.of(1)) =>
  service.send("POST", `/v1/snapshots/${id}/upload/${operation}`, {
    body,
    headers: { ...auth, "content-type": messageType },
  });

const hasCode = (code: CatalogErrorCode) => (error: unknown) =>
  error instanceof Error && "code" in error && error.code === code;

test("an upload: queued, running, completed with both events; its files are read back; the next one stores only what is new", async () => {
  const { owner, accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const folder = folderOf(1);
  const snapshot = await createSnapshot(services, agent, "sunucu");
  assert.equal(await statusOf(snapshot.id), "queued");
  const target = remoteTarget(services, agent, snapshot.id);
  await target.begin(null);
  assert.equal(await statusOf(snapshot.id), "running");
  const { snapshot: row } = await backUp(services, agent, snapshot, folder);
  assert.ok(row.storedBytes > 300_000);
  const { json } = await service.send("GET", `/v1/snapshots/${snapshot.id}`, { headers: owner.auth });
  assert.deepEqual([json?.status, json?.file_count, json?.stored_bytes], ["completed", 6, row.storedBytes]);
  const events = await storedRows<{ type: string }>(
    service.database,
    "select type from emanet.events where account_id = $1 and type like 'snapshot.%' order by sequence",
    [accountId],
  );
  assert.deepEqual(
    events.map(({ type }) => type),
    ["snapshot.started", "snapshot.completed"],
  );
  const file = `/v1/snapshots/${snapshot.id}/files/${encodeURIComponent("büyük")}`;
  const read = await service.send("GET", file, { headers: owner.auth });
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16));
  assert.ok(read.body.equals(cipher.update(Buffer.alloc(400_000))));
  const next = await createSnapshot(services, agent, "sunucu");
  assert.ok((await backUp(services, agent, next, folder)).snapshot.storedBytes < 20_000);
  const shown = await service.send("GET", `/v1/agents/${agent.agentId}`, { headers: owner.auth });
  assert.equal(shown.json?.online, true);
  const at = service.clock.now().toISOString();
  const completed = { snapshot_id: next.id, status: "completed", failure: null, at };
  assert.deepEqual(shown.json?.last_result, completed);
});

test("an upload whose begin ended before the snapshot was running is completed, and has started", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const next = await uploadUntil(services, agent, folderOf(1), "complete");
  const asBefore = "update emanet.snapshots set state = 'queued', started_at = null where id = $1";
  await storedRows(service.database, asBefore, [next.id]);
  const answer = await send(await agent.auth(), next.id, "complete", next.body);
  assert.equal(answer.status, 200, answer.body.toString());
  const [row] = await storedRows<{ state: string; is_started: boolean }>(
    service.database,
    "select state, started_at is not null as is_started from emanet.snapshots where id = $1",
    [next.id],
  );
  assert.deepEqual(row, { state: "completed", is_started: true });
});

test("an agent shows how its last upload ended: failed with its code, canceled, completed; a snapshot in one call is not one", async () => {
  const { owner, accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const other = await openAgent(services, accountId, 2);
  const resultOf = async ({ agentId }: typeof agent) => {
    const { json } = await service.send("GET", `/v1/agents/${agentId}`, { headers: owner.auth });
    const { snapshot_id: id, status, failure } = (json?.last_result ?? {}) as Readonly<Record<string, unknown>>;
    return [id, status, failure];
  };
  const abandoned = await createSnapshot(services, agent, "sunucu");
  await storedRows(service.database, "update emanet.snapshots set active_at = $2 where id = $1", [
    abandoned.id,
    new Date(service.clock.now().getTime() - idleUploadMs),
  ]);
  await runTask({ service }, endUploads, {});
  assert.deepEqual(await resultOf(agent), [abandoned.id, "failed", "upload_abandoned"]);
  const canceled = await createSnapshot(services, agent, "sunucu");
  await service.send("POST", `/v1/snapshots/${canceled.id}/cancel`, { headers: owner.auth });
  assert.deepEqual(await resultOf(agent), [canceled.id, "canceled", "canceled"]);
  const completed = await createSnapshot(services, agent, "sunucu");
  await backUp(services, agent, completed, folderOf(7));
  assert.deepEqual(await resultOf(agent), [completed.id, "completed", null]);
  const one = await service.send("POST", "/v1/snapshots?source=dosya&path=f", {
    body: "x",
    headers: { ...(await agent.auth()), "content-type": "text/plain" },
  });
  assert.equal(one.status, 201, one.body.toString());
  assert.deepEqual(await resultOf(agent), [completed.id, "completed", null]);
  assert.deepEqual(await resultOf(other), [undefined, undefined, undefined], "another agent of the account");
});

test("an added vault gives its keys; one that was taken refuses uploads at once, in one call too, and is not given back", async () => {
  const { owner, accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const added = await makeVault(service, owner.auth);
  const setVaults = async (vaults: readonly string[]) =>
    codeOf(await service.send("PATCH", `/v1/agents/${agent.agentId}`, { json: { vaults }, headers: owner.auth }));
  const keys = async () => {
    const headers = await agent.auth();
    const answer = await service.send("GET", `/v1/agents/${agent.agentId}/keys`, { headers });
    return new Map(listIn<VaultKeysJson>(answer, "keys").map((one) => [one.vault_id, one]));
  };
  const oneCall = async (vaultId: string) =>
    codeOf(
      await service.send("POST", `/v1/snapshots?source=dosya&path=f&vault_id=${vaultId}`, {
        body: "x",
        headers: { ...(await agent.auth()), "content-type": "text/plain" },
      }),
    );
  assert.equal(await oneCall(added), "403 agent_required");
  const { id } = await createSnapshot(services, agent, "sunucu");
  await remoteTarget(services, agent, id).begin(null);
  assert.equal(await setVaults([agent.vaultId, added]), "200");
  const both = await keys();
  assert.deepEqual([...both.keys()].sort(), [agent.vaultId, added].sort());
  const there = inVault(agent, 1, both.get(added) ?? assert.fail("no keys"));
  const snapshot = await createSnapshot(services, there, "yeni");
  await backUp(services, there, snapshot, folderOf(8));
  assert.equal(await statusOf(snapshot.id), "completed");
  assert.equal(await setVaults([added]), "200");
  assert.deepEqual([...(await keys()).keys()], [added]);
  for (const operation of operations)
    assert.equal(codeOf(await send(await agent.auth(), id, operation)), "403 agent_required", operation);
  assert.equal(await oneCall(agent.vaultId), "403 agent_required");
  assert.equal(await oneCall(added), "201");
  assert.equal(await setVaults([agent.vaultId, added]), "409 state_conflict");
});

test("404: only the creator uploads; other agents, the owner and other accounts see no upload", async () => {
  const { owner, accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const { id } = await createSnapshot(services, agent, "sunucu");
  const other = await openAgent(services, accountId, 2);
  const stranger = await openAgent(services, (await newAccount()).accountId, 1);
  for (const auth of [await other.auth(), owner.auth, await stranger.auth()])
    for (const operation of operations)
      assert.equal(codeOf(await send(auth, id, operation)), "404 not_found", operation);
  assert.equal(await statusOf(id), "queued");
});

test("403 agent_required: a creator without a key, and one whose key was revoked, in the middle of an upload", async () => {
  const { owner, accountId } = await newAccount();
  const { client } = await makeClient(service, owner.auth, { scopes: ["snapshots:read", "snapshots:write"] });
  const program = await tokenFor(service, { accountId, as: "client", clientId: client.id });
  const answer = await service.send("POST", "/v1/snapshots", { json: { source: "x" }, headers: program.auth });
  const id = String(answer.json?.id);
  assert.equal(codeOf(await send(program.auth, id, "begin")), "403 agent_required");
  const proof = proofOf(accountId, { kind: "client", id: client.id }, (await openAgent(services, accountId, 9)).signer);
  const { signerFromSeed } = await import("@emanet/engine");
  const own = proofOf(accountId, { kind: "client", id: client.id }, signerFromSeed(Buffer.alloc(32, 8)));
  const json = { name: "Gece", client_id: client.id };
  const taken = await service.send("POST", "/v1/agents", { json: { ...json, ...proof }, headers: owner.auth });
  assert.equal(codeOf(taken), "409 state_conflict", "the key of another agent");
  const made = await service.send("POST", "/v1/agents", { json: { ...json, ...own }, headers: owner.auth });
  const { id: agentId } = objectIn<{ id: string }>(made, "agent");
  assert.equal(codeOf(await send(program.auth, id, "begin", Buffer.of(1, 1, 0, 0))), "200");
  assert.equal((await service.send("DELETE", `/v1/agents/${agentId}`, { headers: owner.auth })).status, 204);
  for (const operation of operations)
    assert.equal(codeOf(await send(program.auth, id, operation)), "403 agent_required", operation);
});

test("a manager cancels an upload: every later call of its agent is refused, and abandoning it does nothing", async () => {
  const { owner, accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const { id } = await createSnapshot(services, agent, "sunucu");
  const target = remoteTarget(services, agent, id);
  await target.begin(null);
  assert.equal((await service.send("POST", `/v1/snapshots/${id}/cancel`, { headers: owner.auth })).status, 200);
  const calls: ((open: UploadTarget) => Promise<unknown>)[] = [
    (open) => open.begin(null),
    (open) => open.reserveOrdinals(1, 1),
    (open) => open.offer([]),
    (open) => open.offerNodes([]),
    (open) => open.renew(),
  ];
  for (const call of calls) await assert.rejects(call(target), hasCode("unknown_upload"));
  await target.abandon();
  assert.equal(await statusOf(id), "canceled canceled");
});

test("an agent abandons its upload: the snapshot is canceled, what was registered is known to the next", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const snapshot = await createSnapshot(services, agent, "sunucu");
  const target = remoteTarget(services, agent, snapshot.id);
  const failing: UploadTarget = {
    ...bound(target),
    complete: async () => {
      throw new Error("the machine is switched off");
    },
  };
  await assert.rejects(backUp(services, agent, snapshot, folderOf(2), { target: failing }), /switched off/);
  assert.equal(await statusOf(snapshot.id), "canceled canceled");
  const next = await createSnapshot(services, agent, "sunucu");
  assert.ok((await backUp(services, agent, next, folderOf(2))).snapshot.storedBytes < 20_000);
});

function bound(target: UploadTarget): UploadTarget {
  return {
    begin: (base) => target.begin(base),
    reserveOrdinals: (request, count) => target.reserveOrdinals(request, count),
    offer: (queries) => target.offer(queries),
    offerNodes: (ids) => target.offerNodes(ids),
    putPack: (name, body) => target.putPack(name, body),
    register: (unit) => target.register(unit),
    renew: () => target.renew(),
    complete: (draft) => target.complete(draft),
    abandon: () => target.abandon(),
  };
}

test("a base is a snapshot of the same source: one's own, or a verified one of others for a client that may read", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const first = await createSnapshot(services, agent, "ortak");
  await backUp(services, agent, first, folderOf(3));
  const isBase = async (by: typeof agent, source: string, base: string) => {
    const { id } = await createSnapshot(services, by, source);
    return remoteTarget(services, by, id)
      .begin(base)
      .then(
        () => true,
        (error) => {
          assert.ok(hasCode("unknown_snapshot")(error), String(error));
          return false;
        },
      );
  };
  assert.equal(await isBase(agent, "ortak", first.snapshotId), true);
  assert.equal(await isBase(agent, "başka", first.snapshotId), false, "of another source");
  assert.equal(await isBase(agent, "ortak", "ab".repeat(16)), false, "does not exist");
  const reader = await openAgent(services, accountId, 2);
  const writer = await openAgent(services, accountId, 3, { scopes: ["snapshots:write"] });
  for (const { sessionId } of [reader, writer])
    await storedRows(
      service.database,
      `insert into emanet.source_writers (source_id, kind, writer_id, account_id, bound_at)
       values ($1, 'agent', $2, $3, now())`,
      [first.sourceId, sessionId, accountId],
    );
  await jobsDone(service, "snapshots.verify");
  assert.equal(await isBase(reader, "ortak", first.snapshotId), true, "verified");
  assert.equal(await isBase(writer, "ortak", first.snapshotId), false, "a write-only client never");
  const unverified = "update emanet.snapshots set verified_at = null where id = $1";
  await storedRows(service.database, unverified, [first.id]);
  assert.equal(await isBase(reader, "ortak", first.snapshotId), false, "not verified yet");
  assert.equal(await isBase(agent, "ortak", first.snapshotId), true, "its own");
});

test("ordinals: an upload gets no more than 65 536 that it does not use", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const { id } = await createSnapshot(services, agent, "sunucu");
  const target = remoteTarget(services, agent, id);
  await target.begin(null);
  let request = 0;
  const reserve = async () => {
    for (;;) await target.reserveOrdinals(++request, 4096);
  };
  await assert.rejects(reserve(), /ordinals that it has not used/);
  assert.equal(request, 16);
});

test("a manifest of another snapshot or source, and one of another agent's key, is refused", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const other = await openAgent(services, accountId, 2);
  const theirs = await createSnapshot(services, other, "öteki");
  const lies = [{ sourceName: theirs.sourceId }, { snapshotId: theirs.snapshotId }, { signer: other.signer }];
  for (const lie of lies) {
    const snapshot = await createSnapshot(services, agent, "sunucu");
    await assert.rejects(backUp(services, agent, snapshot, folderOf(4), lie), FormatError, JSON.stringify(lie));
    assert.equal(await statusOf(snapshot.id), "canceled canceled");
  }
  assert.equal(await statusOf(theirs.id), "queued");
});

test("a write-only agent learns nothing of what others stored, also after it was verified, and sees no stored bytes", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const first = await createSnapshot(services, agent, "bir");
  const { storedBytes } = (await backUp(services, agent, first, folderOf(5))).snapshot;
  await jobsDone(service, "snapshots.verify");
  const writer = await openAgent(services, accountId, 2, { scopes: ["snapshots:write"] });
  const own = await createSnapshot(services, writer, "iki");
  const second = (await backUp(services, writer, own, folderOf(5))).snapshot;
  assert.ok(second.storedBytes > storedBytes * 0.9, "it stores everything itself");
  const headers = await writer.auth();
  assert.equal(codeOf(await service.send("GET", `/v1/snapshots/${own.id}`, { headers })), "403 insufficient_scope");
  const again = await createSnapshot(services, writer, "iki");
  assert.ok((await backUp(services, writer, again, folderOf(5))).snapshot.storedBytes < 20_000, "its own is known");
  const reader = await openAgent(services, accountId, 3);
  const third = await createSnapshot(services, reader, "üç");
  assert.ok(
    (await backUp(services, reader, third, folderOf(5))).snapshot.storedBytes < 20_000,
    "verified: for readers",
  );
});

test("an upload over the quota: refused before the pack is stored, the snapshot has failed, nothing stays counted", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const stored = async () => {
    const [row] = await storedRows<{ stored: string; reserved: string }>(
      service.database,
      `select (select stored_bytes from emanet.vaults where id = $1) as stored,
        (select coalesce(sum(reserved_bytes), 0) from emanet.uploads where vault_id = $1) as reserved`,
      [agent.vaultId],
    );
    return [Number(row?.stored), Number(row?.reserved)];
  };
  await storedRows(service.database, "update emanet.vaults set quota_bytes = 100000 where id = $1", [agent.vaultId]);
  const snapshot = await createSnapshot(services, agent, "sunucu");
  const running = backUp(services, agent, snapshot, folderOf(6));
  await assert.rejects(running, (error) => error instanceof HttpProblem && error.code === "quota_exceeded");
  assert.equal(await statusOf(snapshot.id), "failed quota_exceeded");
  assert.deepEqual(await stored(), [0, 0]);
  const vault = await service.running.services?.vaults.open(accountId, agent.vaultId);
  assert.ok(vault !== undefined);
  assert.deepEqual(await Array.fromAsync(vault.store.list(vault.names.packs)), [], "no pack was stored");
  await storedRows(service.database, "update emanet.vaults set quota_bytes = 1000000 where id = $1", [agent.vaultId]);
  const second = await createSnapshot(services, agent, "sunucu");
  const { storedBytes } = (await backUp(services, agent, second, folderOf(6))).snapshot;
  const sizes = (await Array.fromAsync(vault.catalog.allPacks())).reduce((sum, { size }) => sum + size, 0);
  assert.deepEqual(await stored(), [sizes, 0], "every pack is counted once");
  assert.ok(sizes >= storedBytes);
});

test("415, 413, 422: another media type, a message that is too long, and one that cannot be read", async () => {
  const { accountId } = await newAccount();
  const agent = await openAgent(services, accountId, 1);
  const { id } = await createSnapshot(services, agent, "sunucu");
  const auth = await agent.auth();
  const url = `/v1/snapshots/${id}/upload/begin`;
  const json = await service.send("POST", url, { json: {}, headers: auth });
  assert.equal(codeOf(json), "415 unsupported_media_type");
  assert.equal(codeOf(await send(auth, id, "begin", Buffer.alloc(300))), "413 payload_too_large");
  const wrong = await send(auth, id, "begin", Buffer.of(2, 1, 0, 0));
  assert.deepEqual([codeOf(wrong), wrong.json?.reason], ["422 validation_failed", "malformed"]);
  assert.match(wrong.body.toString(), /version 2 is not known/);
  const early = await send(auth, id, "renew", Buffer.of(1, 6, 0));
  assert.deepEqual([codeOf(early), early.json?.reason], ["409 state_conflict", "unknown_upload"]);
});
