import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { after, test } from "node:test";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { keyLifeMs } from "../rules.ts";

const service = await startTestService({ after });

interface PublishedKey {
  readonly kid: string;
  readonly x: string;
  readonly introduction: string | null;
  readonly [member: string]: unknown;
}

async function keysNow(): Promise<PublishedKey[]> {
  const answer = await service.send("GET", "/.well-known/emanet-keys.json");
  assert.equal(answer.headers["cache-control"], "public, max-age=300");
  return answer.json?.keys as PublishedKey[];
}

const sign = async (payload: object) => (await service.running.services?.receipts.sign({ typ: "x" }, payload)) ?? "";
const decoded = (part: string | undefined) => JSON.parse(Buffer.from(part ?? "", "base64url").toString());

function isSignedBy(jws: string, key: PublishedKey | undefined): boolean {
  const [header, payload, signature = ""] = jws.split(".");
  if (decoded(header).kid !== key?.kid) return false;
  const publicKey = createPublicKey({ key: { ...key }, format: "jwk" });
  return verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, "base64url"));
}

test("many that need the first key at once get the same one", async () => {
  const [first] = await Promise.all(Array.from({ length: 8 }, () => keysNow())).then(([keys = []]) => keys);
  assert.deepEqual(await keysNow(), [first]);
  assert.equal(first?.introduction, null);
  assert.ok(isSignedBy(await sign({ a: 1 }), first));
});

test("a key signs for a year; the next is introduced by it and signs, its private part goes, and what it signed stays valid", async () => {
  const old = await sign({ a: 1 });
  const before = await keysNow();
  service.clock.advance(keyLifeMs - 1000);
  assert.deepEqual(await keysNow(), before);
  service.clock.advance(1000);
  const keys = await keysNow();
  assert.deepEqual(keys.slice(1), before);
  const [next, last] = keys;
  assert.ok(isSignedBy(next?.introduction ?? "", last));
  const [header, introduced] = (next?.introduction ?? "").split(".");
  assert.equal(decoded(header).typ, "emanet-receipt-key+jws");
  assert.deepEqual(decoded(introduced), { kty: "OKP", crv: "Ed25519", x: next?.x, kid: next?.kid });
  assert.ok(isSignedBy(old, last));
  assert.ok(isSignedBy(await sign({ a: 1 }), next));
  const rows = await storedRows<{ has: boolean }>(
    service.database,
    "select sealed_private is not null as has from emanet.receipt_keys order by number",
  );
  assert.deepEqual(
    rows.map(({ has }) => has),
    [false, true],
  );
});
