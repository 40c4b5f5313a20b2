import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { listIn, objectIn } from "../testing/lists.ts";
import { auditTest } from "./testing.ts";

const env = await auditTest({ after });
const hourMs = 60 * 60_000;

interface Checkpoint {
  readonly seq: number;
  readonly reason: string;
  readonly hash: Buffer;
  readonly stored_at: Date | null;
}

const checkpoints = (chain: string) =>
  env.rows<Checkpoint>(
    "select seq, reason, hash, stored_at from emanet.audit_checkpoints where chain = $1 order by seq",
    [chain],
  );

/** The checkpoint of the newest record, as soon as it is stored. */
const stored = (chain: string) =>
  env.until(async () => {
    const [head] = await env.rows<{ seq: number }>("select seq from emanet.audit_heads where chain = $1", [chain]);
    const last = (await checkpoints(chain)).at(-1);
    return last?.seq === head?.seq && last?.stored_at ? last : null;
  });

test("an ordinary act waits for the hour; then its chain gets one signed checkpoint, also in the object store", async () => {
  await env.act(2);
  assert.deepEqual(await checkpoints(env.accountId), []);
  env.service.clock.advance(hourMs);
  const made = await stored(env.accountId);
  assert.deepEqual([made.seq, made.reason], [2, "hourly"]);
  const store = await env.service.running.services?.audit.openStore();
  const name = `audit/${env.accountId.replaceAll("-", "")}/0000000000000002.jws`;
  const bytes = (await store?.get(name)) ?? assert.fail("no object");
  const [header = "", payload = "", signature = ""] = Buffer.from(bytes).toString().split(".");
  const [key] = listIn<{ x: string; [member: string]: unknown }>(
    await env.service.send("GET", "/.well-known/emanet-keys.json"),
    "keys",
  );
  const publicKey = createPublicKey({ key: { ...key }, format: "jwk" });
  assert.ok(verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, "base64url")));
  const said = JSON.parse(Buffer.from(payload, "base64url").toString());
  assert.deepEqual([said.chain, said.seq, said.hash], [env.accountId, 2, made.hash.toString("hex")]);
  env.service.clock.advance(hourMs);
  env.service.clock.advance(hourMs);
  assert.equal((await checkpoints(env.accountId)).length, 1, "an hour without changes makes none");
});

test("an act with a fresh second factor and an act of staff make one at once", async () => {
  const json = {
    name: "Defter",
    scopes: ["account:read"],
    grant_types: ["client_credentials"],
    auth_method: "client_secret",
  };
  const headers = await env.signIn();
  const made = await env.service.send("POST", "/v1/oauth-clients", { json, headers });
  assert.equal(made.status, 201, made.body.toString());
  assert.equal((await stored(env.accountId)).reason, "act");
  const staff = await tokenFor(env.service, { as: "staff" });
  const call = { json: { early_access: true, reason: "deneme" }, headers: staff.auth };
  const done = await env.service.send("POST", `/v1/admin/accounts/${env.accountId}/early-access`, call);
  assert.ok(done.status < 300, done.body.toString());
  const last = await stored(env.accountId);
  assert.equal(last.reason, "act");
  assert.ok(objectIn(made, "client"));
});

test("a checkpoint in the database cannot be changed or deleted", async () => {
  await assert.rejects(env.rows("delete from emanet.audit_checkpoints"), { code: "23000" });
});
