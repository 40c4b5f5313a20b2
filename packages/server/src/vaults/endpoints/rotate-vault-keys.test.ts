import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditOf, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { makeVault } from "../testing.ts";

const env = await snapshotTest({ after });
const { service, accountId } = env;
const owner = () => env.as({ role: "owner" });
const vaultId = await makeVault(service, await owner(), "Kasa");

const rotate = async (headers?: Readonly<Record<string, string>>) =>
  service.send("POST", `/v1/vaults/${vaultId}/rotate-keys`, { headers: headers ?? (await owner()) });
const opened = async () => (await service.running.services?.vaults.open(accountId, vaultId)) ?? assert.fail("no vault");

async function backUp(files: Readonly<Record<string, string>>): Promise<string> {
  const headers = { ...env.auth, "content-type": "application/x-tar" };
  const sent = await service.send("POST", `/v1/snapshots?source=defter&vault_id=${vaultId}`, {
    body: tarOf(files),
    headers,
  });
  assert.equal(sent.status, 201, sent.body.toString());
  return String(sent.json?.id);
}

const content = async (id: string, file: string) =>
  (await service.send("GET", `/v1/snapshots/${id}/files/${file}`, { headers: await owner() })).body.toString();

test("new content needs the new pair, old content stays readable, and equal content is found again", async () => {
  const old = await backUp({ "a.txt": "eski".repeat(5000) });
  const before = await opened();
  const answer = await rotate();
  assert.deepEqual([answer.status, answer.json?.key_epoch], [200, 2]);
  assert.equal(answer.json?.keys_rotated_at, service.clock.now().toISOString());
  const after_ = await opened();
  assert.deepEqual([before.keys.epoch, after_.keys.epoch, [...after_.keys.privateSeeds.keys()].sort()], [1, 2, [1, 2]]);
  assert.notDeepEqual(after_.keys.publicKey, before.keys.publicKey);
  const fresh = await backUp({ "a.txt": "eski".repeat(5000), "b.txt": "yeni" });
  assert.deepEqual([await content(old, "a.txt"), await content(fresh, "b.txt")], ["eski".repeat(5000), "yeni"]);
  // The session of the new snapshot was sealed to the new pair: keys of the old epoch alone do not open it.
  const { epochs, newestEpoch } = await after_.chain.read();
  assert.deepEqual([newestEpoch, epochs.has(2)], [2, true]);
  assert.ok((await auditOf(env)).some((each) => each.startsWith("vault.keys_rotated by member")));
  assert.deepEqual(after_.keys.authoritySeed, before.keys.authoritySeed, "who signs stays the same");
});

test("uploads that run all the time notice nothing of it", async () => {
  let done = false;
  const uploads = Promise.all(
    Array.from({ length: 4 }, async (_, writer) => {
      const ids: [string, string][] = [];
      for (let n = 0; !done || n < 3; n++) {
        const text = `${writer} ${n} `.repeat(200);
        ids.push([await backUp({ "a.txt": text }), text]);
      }
      return ids;
    }),
  );
  for (let round = 0; round < 3; round++) assert.equal((await rotate()).status, 200);
  done = true;
  for (const [id, text] of (await uploads).flat()) assert.equal(await content(id, "a.txt"), text);
});

test("403 for managers and programs; 404 for a vault that is not there", async () => {
  assert.equal((await rotate(await env.as({ role: "manager" }))).json?.code, "insufficient_role");
  assert.equal((await rotate(env.auth)).json?.code, "insufficient_scope");
  const unknown = await service.send("POST", "/v1/vaults/0199c0de-0000-7000-8000-00000000dead/rotate-keys", {
    headers: await owner(),
  });
  assert.equal(unknown.status, 404);
});
