import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, createPublicKey, verify } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { prepareVerifier, verifierFiles } from "../../receipts/testing.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { endMark, member, type SnapshotJson, snapshotTest, tarOf } from "../testing.ts";

const env = await snapshotTest({ after });
const folder = await temporaryFolder({ after });

interface PublishedKey {
  readonly kid: string;
  readonly x: string;
  readonly [member: string]: unknown;
}

const keysNow = async () =>
  (await env.service.send("GET", "/.well-known/emanet-keys.json")).json as { keys: PublishedKey[] };
const receiptOf = async (id: unknown) => (await env.get(`/v1/snapshots/${id}/receipt`)).body.toString();
const decoded = (part: string | undefined) => JSON.parse(Buffer.from(part ?? "", "base64url").toString());
const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex");

function isSignedBy(jws: string, key: PublishedKey | undefined): boolean {
  const [header, payload, signature = ""] = jws.split(".");
  assert.deepEqual([decoded(header).alg, decoded(header).kid], ["EdDSA", key?.kid]);
  const publicKey = createPublicKey({ key: { ...key }, format: "jwk" });
  return verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, "base64url"));
}

async function verified(id: unknown): Promise<SnapshotJson> {
  return env.until(async () => {
    const found = (await env.get(`/v1/snapshots/${id}`)).json as SnapshotJson;
    return found.verified_at === null ? null : found;
  });
}

test("200: what the snapshot has, signed by the newest published key", async () => {
  const body = Buffer.concat([
    member({ name: "fatura ç.xml" }, "<fatura/>"),
    member({ name: Buffer.from([0x66, 0x98]) }, "bytes"),
    member({ name: "d/none" }, ""),
    member({ name: "d/link", type: "2", linkName: "none" }),
    endMark,
  ]);
  const { id } = (await env.upload("source=receipts", body)).json as SnapshotJson;
  const shown = await verified(id);
  const answer = await env.get(`/v1/snapshots/${id}/receipt`);
  assert.equal(answer.headers["content-type"], "application/jose");
  assert.match(answer.headers["content-disposition"] ?? "", new RegExp(`attachment; filename="${id}.jws"`));
  const receipt = answer.body.toString();
  const [key] = (await keysNow()).keys;
  assert.ok(isSignedBy(receipt, key));
  const [header, payload] = receipt.split(".");
  assert.equal(decoded(header).typ, "emanet-receipt+jws");
  const said = decoded(payload);
  assert.deepEqual(
    { ...said, chain_sequence: 0, iss: "" },
    {
      ...{ iss: "", snapshot_id: id, account_id: env.accountId, vault_id: shown.vault_id, source: "receipts" },
      ...{ root_hash: shown.root_hash, completed_at: shown.completed_at, size_bytes: 14, file_count: 3 },
      ...{ verified: true, chain_sequence: 0 },
      files: [
        { path: "d/none", sha256: sha256("") },
        { path: "fatura ç.xml", sha256: sha256("<fatura/>") },
        { path: "f\u{fffd}", path_base64: "Zpg=", sha256: sha256("bytes") },
      ],
    },
  );
  assert.ok(Number.isSafeInteger(said.chain_sequence) && said.chain_sequence > 0);
  assert.equal(await receiptOf(id), receipt, "the same snapshot has the same receipt");
});

test("`verified` is false before everything was read back, and after something was found wrong", async () => {
  const { id } = await env.completed("unverified", { f: "1" });
  await verified(id);
  const claim = async () => decoded((await receiptOf(id)).split(".")[1]).verified;
  const set = (columns: string) => env.rows(`update emanet.snapshots set ${columns} where id = $1`, [id]);
  assert.equal(await claim(), true);
  await set("verified_at = null");
  assert.equal(await claim(), false);
  await set("verified_at = now(), verification_failed_at = now()");
  assert.equal(await claim(), false);
});

test("each snapshot of a vault has a later place in its chain", async () => {
  const places: number[] = [];
  for (const name of ["first", "second"]) {
    const { id } = await env.completed("chain", { f: name });
    places.push(decoded((await receiptOf(id)).split(".")[1]).chain_sequence);
  }
  assert.ok(places[0] !== undefined && places[1] !== undefined && places[0] < places[1], `${places}`);
});

test("100 files are listed; with one more the root hash stands for them", async () => {
  const files = (count: number) =>
    tarOf(Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, `${i}`])));
  const listed = async (count: number) => {
    const { id } = (await env.upload(`source=many-${count}`, files(count))).json as SnapshotJson;
    return decoded((await receiptOf(id)).split(".")[1]).files?.length;
  };
  assert.deepEqual([await listed(100), await listed(101)], [100, undefined]);
});

test("a file that is too large to hash again is listed by the hash that this service computed, and by no other", async () => {
  const large = Buffer.alloc(65 * 1024 * 1024, "büyük ");
  const one = await env.upload("source=large&path=yedek.bak", large);
  assert.deepEqual(decoded((await receiptOf(one.json?.id)).split(".")[1]).files, [
    { path: "yedek.bak", sha256: sha256(large) },
  ]);
  // What an agent has uploaded: the hash in its tree is its own.
  await env.rows("update emanet.snapshots set upload_kind = 'upload' where id = $1", [one.json?.id]);
  assert.equal(decoded((await receiptOf(one.json?.id)).split(".")[1]).files, undefined);
});

test("409 before the snapshot is completed", async () => {
  const { json } = await env.send("POST", "/v1/snapshots", { source: "queued" });
  const answer = await env.get(`/v1/snapshots/${json?.id}/receipt`);
  assert.deepEqual([answer.status, answer.json?.code], [409, "state_conflict"]);
});

describe("a receipt is checked without the service", () => {
  const run = promisify(execFile);
  for (const file of verifierFiles) {
    test(`by ${file}: the right one is accepted, and no changed one`, async (t) => {
      const verifier = await prepareVerifier(t, file, folder);
      if (verifier === null) return;
      const [command = "", ...first] = verifier;
      const { id } = await env.completed("offline", { "fatura ç.xml": "<fatura/>" });
      const receipt = await receiptOf(id);
      const { keys } = await keysNow();
      const name = (kind: string) => path.join(folder, `${file}.${kind}`);
      const check = async (jws: string, known: readonly object[] = keys) => {
        await writeFile(name("jws"), `${jws}\n`);
        await writeFile(name("keys"), JSON.stringify({ keys: known }));
        return run(command, [...first, name("jws"), name("keys")]).then(
          ({ stdout }) => JSON.parse(stdout),
          (error: { stderr: string }) => error.stderr.trim().split("\n")[0],
        );
      };
      const [header = "", payload = "", signature = ""] = receipt.split(".");
      assert.deepEqual(await check(receipt), decoded(payload));
      const otherPayload = Buffer.from(JSON.stringify({ ...decoded(payload), size_bytes: 1 })).toString("base64url");
      const otherHeader = Buffer.from(JSON.stringify({ ...decoded(header), alg: "none" })).toString("base64url");
      const flipped = Buffer.from(signature, "base64url");
      flipped[0] = (flipped[0] ?? 0) ^ 1;
      const refused = [
        await check([header, otherPayload, signature].join(".")),
        await check([otherHeader, payload, ""].join(".")),
        await check([header, payload, flipped.toString("base64url")].join(".")),
        await check([header, payload].join(".")),
        await check(receipt, []),
        // A key of the same name that is not ours.
        await check(
          receipt,
          keys.map((key) => ({ ...key, x: Buffer.alloc(32, 9).toString("base64url") })),
        ),
      ];
      assert.deepEqual(
        refused,
        refused.map(() => "The receipt is not valid."),
      );
    });
  }
});
