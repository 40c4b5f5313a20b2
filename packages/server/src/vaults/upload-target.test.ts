import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { systemRandom } from "../kernel/clock.ts";
import { Problem } from "../kernel/problems.ts";
import { nameOrder } from "./name-order.ts";
import { assertQuotaLeft, releaseBytes, reserveBytes } from "./quota-store.ts";
import { bindWriter, findSourceById, insertAlias, noteSnapshot, unbindWriter, updateSource } from "./source-store.ts";
import { type AccountPrincipal, clientOf, vaultEnvironment } from "./testing.ts";
import { findSource, resolveTarget, type UploadTarget } from "./upload-target.ts";
import { findVault, insertVault, updateVault } from "./vault-store.ts";

const { run, newAccount, rows, clock } = await vaultEnvironment({ after });

function resolve(principal: AccountPrincipal, target: UploadTarget) {
  const caller = { principal, language: "en", random: systemRandom, place: "/query" } as const;
  return run(principal.accountId, (tx) => resolveTarget(tx, caller, target));
}

async function newVault(accountId: string, taxpayerId: string | null = null): Promise<string> {
  const id = systemRandom.uuid();
  const quotas = { quotaBytes: null, quotaWarningBytes: null };
  await run(accountId, (tx) => insertVault(tx, { id, accountId, name: "Başka", taxpayerId, ...quotas }));
  return id;
}

/** A finding at that member, whatever the reason: ids of others look like ids that do not exist. */
function wrong(member: string) {
  return (error: unknown) => {
    assert.ok(error instanceof Problem);
    assert.equal(error.code, "validation_failed");
    assert.deepEqual(
      error.extras.errors?.map(({ pointer }) => pointer),
      [`/query/${member}`],
    );
    return true;
  };
}

describe("the target of an upload", () => {
  test("an unknown name makes a source in the default vault, once, bound to its writer", async () => {
    const { accountId, vaultId } = await newAccount();
    const client = clientOf(accountId);
    const first = await resolve(client, { source: "sunucu-1" });
    assert.deepEqual([first.sourceCreated, first.vault.id, first.source.name], [true, vaultId, "sunucu-1"]);
    const again = await resolve(client, { source: "sunucu-1" });
    assert.deepEqual([again.sourceCreated, again.source.id], [false, first.source.id]);
    const byId = await resolve(client, { source: first.source.id.toUpperCase() });
    assert.equal(byId.source.id, first.source.id);
    const audited = await rows<{ targets: { id: string }[] }>(
      "select targets from emanet.audit_records where action = 'source.created' and account_id = $1",
      [accountId],
    );
    assert.deepEqual(
      audited.map(({ targets }) => targets[0]?.id),
      [first.source.id],
    );
  });

  test("names that look the same are the same; names in two vaults are two sources", async () => {
    const { accountId } = await newAccount();
    const client = clientOf(accountId);
    const composed = await resolve(client, { source: "Ofis Çıktıları".normalize("NFC") });
    const decomposed = await resolve(client, { source: "Ofis Çıktıları".normalize("NFD") });
    assert.equal(decomposed.source.id, composed.source.id);
    const other = await resolve(client, { source: "Ofis Çıktıları", vaultId: await newVault(accountId) });
    assert.notEqual(other.source.id, composed.source.id);
  });

  test("many uploads with one new name at once make one source", async () => {
    const { accountId } = await newAccount();
    const client = clientOf(accountId);
    const all = await Promise.all(Array.from({ length: 8 }, () => resolve(client, { source: "gece" })));
    assert.equal(new Set(all.map(({ source }) => source.id)).size, 1);
    assert.equal(all.filter(({ sourceCreated }) => sourceCreated).length, 1);
  });

  test("422: ids of nothing, of another account, of vaults and taxpayers that do not agree", async () => {
    const [mine, other] = [await newAccount(), await newAccount()];
    const client = clientOf(mine.accountId);
    const theirs = await resolve(clientOf(other.accountId), { source: "onların" });
    const [taxpayerId, otherTaxpayer] = [randomUUID(), randomUUID()];
    const taxVault = await newVault(mine.accountId, taxpayerId);
    await newVault(other.accountId, otherTaxpayer);
    const own = await resolve(client, { source: "benim" });
    const cases: [UploadTarget, string][] = [
      [{ source: randomUUID() }, "source"],
      [{ source: theirs.source.id }, "source"],
      [{ source: "x", vaultId: randomUUID() }, "vault_id"],
      [{ source: "x", vaultId: other.vaultId }, "vault_id"],
      [{ source: "x", taxpayerId: randomUUID() }, "taxpayer_id"],
      [{ source: "x", taxpayerId: otherTaxpayer }, "taxpayer_id"],
      [{ source: "x", taxpayerId, vaultId: mine.vaultId }, "taxpayer_id"],
      [{ source: own.source.id, vaultId: taxVault }, "source"],
    ];
    for (const [target, member] of cases) await assert.rejects(resolve(client, target), wrong(member));
    const agreed = await resolve(client, { source: "x", taxpayerId, vaultId: taxVault });
    assert.equal(agreed.vault.id, taxVault);
    assert.equal((await resolve(client, { source: "x", taxpayerId })).source.id, agreed.source.id);
  });

  test("a client that is held to vaults finds nothing outside them, and means its only one", async () => {
    const { accountId, vaultId } = await newAccount();
    const [one, two] = [await newVault(accountId), await newVault(accountId)];
    const free = await resolve(clientOf(accountId), { source: "genel" });
    const held = clientOf(accountId, { vaultIds: [one] });
    assert.equal((await resolve(held, { source: "genel" })).vault.id, one);
    await assert.rejects(resolve(held, { source: "genel", vaultId }), wrong("vault_id"));
    await assert.rejects(resolve(held, { source: free.source.id }), wrong("source"));
    await assert.rejects(resolve(clientOf(accountId, { vaultIds: [one, two] }), { source: "x" }), wrong("vault_id"));
    await assert.rejects(resolve(clientOf(accountId, { vaultIds: [] }), { source: "x" }), wrong("vault_id"));
    const found = (principal: AccountPrincipal) =>
      run(accountId, (tx) => findSource(tx, principal, { source: free.source.id }));
    assert.equal((await found(clientOf(accountId)))?.id, free.source.id);
    assert.equal(await found(held), undefined);
  });

  test("an alias finds its source, and the name of the present comes first", async () => {
    const { accountId } = await newAccount();
    const client = clientOf(accountId);
    const { source } = await resolve(client, { source: "eski" });
    await run(accountId, async (tx) => {
      await insertAlias(tx, source);
      await updateSource(tx, accountId, source.id, { name: "yeni" });
    });
    for (const name of ["eski", "yeni"]) assert.equal((await resolve(client, { source: name })).source.id, source.id);
    const read = await run(accountId, (tx) => findSourceById(tx, accountId, source.id));
    assert.deepEqual([read?.name, read?.aliases, read?.name_order], ["yeni", ["eski"], nameOrder("yeni")]);
  });
});

describe("the writers of a source", () => {
  test("403: another writer, until a person binds it, and again after it is unbound", async () => {
    const { accountId } = await newAccount();
    const [first, second] = [clientOf(accountId), clientOf(accountId)];
    const { source } = await resolve(first, { source: "defter" });
    await assert.rejects(resolve(second, { source: "defter" }), { code: "writer_not_bound" });
    await assert.rejects(resolve(second, { source: source.id }), { code: "writer_not_bound" });
    const writer = { kind: "client", id: second.clientId } as const;
    await run(accountId, (tx) => bindWriter(tx, source, writer, randomUUID()));
    await resolve(second, { source: "defter" });
    await run(accountId, (tx) => unbindWriter(tx, source.id, writer));
    await assert.rejects(resolve(second, { source: "defter" }), { code: "writer_not_bound" });
    await resolve(first, { source: "defter" });
  });

  test("a client, an agent and a member with the same id are three writers", async () => {
    const { accountId } = await newAccount();
    const client = clientOf(accountId);
    await resolve(client, { source: "defter" });
    const agent = { ...client, tokenKind: "agent" } as const;
    await assert.rejects(resolve(agent, { source: "defter" }), { code: "writer_not_bound" });
  });

  test("of several first writers at once one is bound", async () => {
    const { accountId } = await newAccount();
    const [seed, ...others] = Array.from({ length: 6 }, () => clientOf(accountId));
    const made = await resolve(seed ?? assert.fail(), { source: "yeni" });
    await run(accountId, (tx) => unbindWriter(tx, made.source.id, made.writer));
    const tried = await Promise.allSettled(others.map((client) => resolve(client, { source: "yeni" })));
    assert.equal(tried.filter(({ status }) => status === "fulfilled").length, 1);
  });
});

describe("the quota of a vault", () => {
  async function vaultWith(quotaBytes: number | null, warning: number | null) {
    const account = await newAccount();
    await run(account.accountId, (tx) =>
      updateVault(tx, account.accountId, account.vaultId, { quota_bytes: quotaBytes, quota_warning_bytes: warning }),
    );
    return account;
  }
  const stored = async (vaultId: string) =>
    (await rows<{ stored_bytes: number }>("select stored_bytes from emanet.vaults where id = $1", [vaultId]))[0]
      ?.stored_bytes;
  const warnings = (accountId: string) =>
    rows<{ payload: string }>(
      "select payload from emanet.events where account_id = $1 and type = 'vault.quota_warning' order by sequence",
      [accountId],
    );

  test("is never exceeded by uploads that store at the same time, and exactly used", async () => {
    const { accountId, vaultId } = await vaultWith(1000, null);
    const tried = await Promise.allSettled(
      Array.from({ length: 30 }, () => run(accountId, (tx) => reserveBytes(tx, vaultId, 70))),
    );
    assert.equal(tried.filter(({ status }) => status === "fulfilled").length, 14);
    for (const one of tried) if (one.status === "rejected") assert.equal(one.reason.code, "quota_exceeded");
    assert.equal(await stored(vaultId), 980);
    await assert.rejects(
      run(accountId, (tx) => reserveBytes(tx, vaultId, 21)),
      { code: "quota_exceeded" },
    );
    await run(accountId, (tx) => reserveBytes(tx, vaultId, 20));
    const check = () =>
      run(accountId, async (tx) => assertQuotaLeft((await findVault(tx, accountId, vaultId)) ?? assert.fail()));
    await assert.rejects(check, { code: "quota_exceeded" });
    await run(accountId, (tx) => releaseBytes(tx, vaultId, 1));
    await check();
    assert.equal(await stored(vaultId), 999);
  });

  test("counts nothing of a transaction that fails", async () => {
    const { accountId, vaultId } = await vaultWith(1000, 500);
    const failing = run(accountId, async (tx) => {
      await reserveBytes(tx, vaultId, 600);
      throw new Error("the upload ended");
    });
    await assert.rejects(failing, /the upload ended/);
    assert.deepEqual([await stored(vaultId), (await warnings(accountId)).length], [0, 0]);
  });

  test("warns once when the soft limit is reached, also by many at once, and again after it was below", async () => {
    const { accountId, vaultId } = await vaultWith(null, 500);
    const add = (bytes: number) => run(accountId, (tx) => reserveBytes(tx, vaultId, bytes));
    await add(499);
    assert.equal((await warnings(accountId)).length, 0);
    await Promise.all(Array.from({ length: 8 }, () => add(1)));
    const [first, ...more] = await warnings(accountId);
    assert.equal(more.length, 0);
    const { vault_id, stored_bytes, quota_bytes } = JSON.parse(first?.payload ?? "{}");
    assert.deepEqual([vault_id, stored_bytes, quota_bytes], [vaultId, 500, 500]);
    await run(accountId, (tx) => releaseBytes(tx, vaultId, 7));
    await add(1);
    assert.equal((await warnings(accountId)).length, 1, "it was not below");
    await run(accountId, (tx) => releaseBytes(tx, vaultId, 100));
    await add(100);
    assert.equal((await warnings(accountId)).length, 2);
  });
});

describe("the newest snapshot of a source", () => {
  test("is noted in the order of ids, and freshness follows the last good one", async () => {
    const { accountId } = await newAccount();
    const { source } = await resolve(clientOf(accountId), { source: "gece" });
    const [older, newer] = [systemRandom.uuid(), systemRandom.uuid()].sort();
    const note = (id: string | undefined, status: string, completedAt: Date | null, sizeBytes: number | null) =>
      run(accountId, (tx) => noteSnapshot(tx, source.id, { id: id ?? "", status, completedAt, sizeBytes }));
    const read = async () => {
      const row = await run(accountId, (tx) => findSourceById(tx, accountId, source.id));
      return [row?.last_snapshot_id, row?.last_snapshot_status, row?.size_bytes, row?.freshness];
    };
    assert.deepEqual(await read(), [null, null, null, "never"]);
    await note(newer, "running", null, null);
    assert.deepEqual(await read(), [newer, "running", null, "never"]);
    await note(older, "completed", clock.now(), 10);
    assert.deepEqual(await read(), [newer, "running", 10, "ok"]);
    await note(newer, "failed", null, null);
    assert.deepEqual(await read(), [newer, "failed", 10, "ok"]);
    await run(accountId, (tx) => updateSource(tx, accountId, source.id, { expected_every_s: 60 }));
    clock.advance(60_000);
    assert.deepEqual(await read(), [newer, "failed", 10, "ok"]);
    clock.advance(1);
    assert.deepEqual(await read(), [newer, "failed", 10, "late"]);
  });
});
