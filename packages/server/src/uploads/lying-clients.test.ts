/** Agents that lie about content, over HTTP: the lie is found in the background, is named, and harms nobody else. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import type { ClientUnit, UploadTarget } from "@emanet/engine";
import { CatalogError } from "@emanet/engine";
import { decodeBlockList, encodeBlockList, intercept } from "@emanet/engine/testing";
import { tokenFor } from "../testing/accounts.ts";
import { listIn } from "../testing/lists.ts";
import { storedRows } from "../testing/rows.ts";
import { startTestService } from "../testing/running.ts";
import { jobsDone, messageTo } from "../testing/sent-messages.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import {
  backUp,
  createSnapshot,
  inTurn,
  noUploadLimits,
  openAgent,
  remoteTarget,
  type UploadAgent,
} from "./testing.ts";

const service = await startTestService({ after }, { settings: noUploadLimits });
const services = inTurn([service]);
const scratch = await temporaryFolder({ after });

function folderOf(seed: number): string {
  const folder = path.join(scratch, String(seed));
  mkdirSync(folder, { recursive: true });
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16));
  for (const name of ["a", "b"]) writeFileSync(path.join(folder, name), cipher.update(Buffer.alloc(300_000)));
  return folder;
}

/** The same target, with some calls replaced. */
function changed(target: UploadTarget, more: Partial<UploadTarget>): UploadTarget {
  return {
    ...intercept(
      () => target,
      (_name, call) => call(),
    ),
    ...more,
  };
}

async function rowOf(id: string) {
  const [row] = await storedRows<{
    state: string;
    failure_code: string | null;
    verified_at: Date | null;
    verification_failed_at: Date | null;
  }>(
    service.database,
    "select state, failure_code, verified_at, verification_failed_at from emanet.snapshots where id = $1",
    [id],
  );
  assert.ok(row !== undefined);
  return row;
}

/** Every file of the folder is in the snapshot, byte for byte. */
async function assertHas(auth: Readonly<Record<string, string>>, id: string, folder: string): Promise<void> {
  for (const name of ["a", "b"]) {
    const { status, body } = await service.send("GET", `/v1/snapshots/${id}/files/${name}`, { headers: auth });
    assert.equal(status, 200, body.toString());
    assert.ok(body.equals(readFileSync(path.join(folder, name))), name);
  }
}

/** The ids that true content has in the vault: what a client can compute that knows or guesses the content. */
async function idsOf(agent: Parameters<typeof backUp>[1], folder: string): Promise<readonly ClientUnit[]> {
  const snapshot = await createSnapshot(services, agent, "yalan");
  const units: ClientUnit[] = [];
  const target = changed(remoteTarget(services, agent, snapshot.id), {
    register: async (unit) => {
      units.push(unit);
      throw new Error("known enough");
    },
  });
  await assert.rejects(backUp(services, agent, snapshot, folder, { target }), /known enough/);
  return units;
}

/** Says that segments and blocks have other ids than they have. */
function claiming(unit: ClientUnit, truth: readonly ClientUnit[]): ClientUnit {
  const segments = truth.flatMap(({ items }) => items.filter(({ kind }) => kind === "segment"));
  const blocks = Buffer.concat(
    truth.flatMap(({ blockLists }) => blockLists.map((each) => decodeBlockList(each.blockList).ids)),
  );
  let next = 0;
  const items = unit.items.map((item) =>
    item.kind === "segment" ? { ...item, id: segments[next++ % segments.length]?.id ?? item.id } : item,
  );
  const blockLists = unit.blockLists.map((each) => {
    const { ids, lengths } = decodeBlockList(each.blockList);
    const claimed = Buffer.from(ids);
    blocks.copy(claimed, 0, 0, Math.min(blocks.length, claimed.length));
    return { ...each, blockList: encodeBlockList({ ids: claimed, lengths }) };
  });
  return { ...unit, items, blockLists };
}

/** Staff find the lie and who told it: in their list, by mail, and as a count. */
async function assertNamed(accountId: string, lie: string, liar: UploadAgent, honest: string): Promise<void> {
  const staff = await tokenFor(service, { as: "staff" });
  const list = async (query: string) => {
    const target = `/v1/admin/snapshots?account_id=${accountId}${query}`;
    const answer = await service.send("GET", target, { headers: staff.auth });
    return listIn<{ id: string; status: string; failure: string | null; writer: object }>(answer, "data");
  };
  const found = await list("&failure=verification_failed");
  const writer = { kind: "agent", id: liar.sessionId, agent_id: liar.agentId };
  assert.deepEqual(
    found.map((one) => [one.id, one.status, one.failure, one.writer]),
    [[lie, "completed", "verification_failed", writer]],
  );
  for (const id of [liar.agentId, liar.sessionId])
    assert.deepEqual(
      (await list(`&writer_id=${id}&status=completed`)).map((one) => one.id),
      [lie],
    );
  assert.deepEqual(
    (await list("&status=completed")).map((one) => one.id),
    [honest, lie],
  );
  const mail = await messageTo(service.dataDir, "staff@emanet.invalid", "verification_failed_staff");
  for (const part of [lie, accountId, liar.sessionId]) assert.ok(mail.text.includes(part), mail.text);
  const metrics = await (await fetch(service.running.metricsUrl ?? "")).text();
  assert.match(metrics, /^emanet_verifications_total\{outcome="wrong"\} 1$/m);
}

test("a client that claims to have stored content of others: they are not told, lose nothing, and the lie is named", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const liar = await openAgent(services, accountId, 1);
  const truth = folderOf(1);
  const known = await idsOf(liar, truth);
  const lie = await createSnapshot(services, liar, "yalan");
  const target = remoteTarget(services, liar, lie.id);
  const lying = changed(target, { register: (unit) => target.register(claiming(unit, known)) });
  await backUp(services, liar, lie, folderOf(2), { target: lying });
  const victim = await openAgent(services, accountId, 2);
  const honest = await createSnapshot(services, victim, "gerçek");
  const { storedBytes } = (await backUp(services, victim, honest, truth)).snapshot;
  assert.ok(storedBytes > 500_000, `not told of a claim: ${storedBytes} stored`);
  await jobsDone(service, "snapshots.verify");
  const marked = await rowOf(lie.id);
  assert.deepEqual([marked.verified_at, marked.verification_failed_at !== null], [null, true]);
  const shown = await service.send("GET", `/v1/snapshots/${lie.id}`, { headers: owner.auth });
  assert.equal((shown.json?.failure as { code: string } | null)?.code, "verification_failed");
  const audit = await storedRows(
    service.database,
    "select from emanet.audit_records where account_id = $1 and action = 'snapshot.verification_failed'",
    [accountId],
  );
  assert.equal(audit.length, 1);
  await assertNamed(accountId, lie.id, liar, honest.id);
  assert.ok(
    service.logLines.some((line) => line.includes("verification_failed") && line.includes(lie.id)),
    "staff find it in the log",
  );
  assert.notEqual((await rowOf(honest.id)).verified_at, null);
  await assertHas(owner.auth, honest.id, truth);
  const third = await openAgent(services, accountId, 3);
  const later = await createSnapshot(services, third, "sonra");
  const { storedBytes: more } = (await backUp(services, third, later, truth)).snapshot;
  assert.ok(more < 20_000, `verified content is stored once: ${more} stored`);
  await jobsDone(service, "snapshots.verify");
  assert.notEqual((await rowOf(later.id)).verified_at, null);
  await assertHas(owner.auth, later.id, truth);
});

test("two clients with the same content at once: both complete, each with its own; afterwards it is known to both", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const agents = [await openAgent(services, accountId, 1), await openAgent(services, accountId, 2)];
  const folder = folderOf(3);
  const both = await Promise.all(
    agents.map(async (agent, at) => {
      const snapshot = await createSnapshot(services, agent, `kaynak ${at}`);
      return { snapshot, row: (await backUp(services, agent, snapshot, folder)).snapshot };
    }),
  );
  for (const { snapshot, row } of both) {
    assert.equal((await rowOf(snapshot.id)).state, "completed");
    assert.ok(row.storedBytes > 500_000);
    await assertHas(owner.auth, snapshot.id, folder);
  }
  await jobsDone(service, "snapshots.verify");
  for (const { snapshot } of both) assert.notEqual((await rowOf(snapshot.id)).verified_at, null);
  const third = await openAgent(services, accountId, 3);
  const snapshot = await createSnapshot(services, third, "kaynak 3");
  assert.ok((await backUp(services, third, snapshot, folder)).snapshot.storedBytes < 20_000);
});

test("a client that stored or registered nothing cannot complete: its snapshot has failed", async () => {
  const owner = await tokenFor(service);
  const agent = await openAgent(services, owner.accountId ?? "", 1);
  const snapshot = await createSnapshot(services, agent, "boş");
  const target = changed(remoteTarget(services, agent, snapshot.id), { putPack: drop, register: async () => {} });
  await assert.rejects(
    backUp(services, agent, snapshot, folderOf(4), { target }),
    (error) => error instanceof CatalogError && error.code === "not_closed",
  );
  const { state, failure_code: code } = await rowOf(snapshot.id);
  assert.deepEqual([state, code], ["failed", "content_mismatch"]);
});

async function drop(_name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _chunk of body);
}
