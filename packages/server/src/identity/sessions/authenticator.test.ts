import assert from "node:assert/strict";
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import https from "node:https";
import { after, describe, test } from "node:test";
import { SignJWT } from "jose";
import { openTrap, watchOutgoing } from "../../testing/outgoing.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../testing/people.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";

// Its requests are counted by their connections.
const service = await startTestService({ after }, { settings: noSignInLimits, keepsConnections: false });
const { demo } = await readFirstRun(service.dataDir);
const { token } = await signInAs(service, demo);
const [header = "", payload = "", signature = ""] = token.split(".");
const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
const { kid } = JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string };

const rows = await storedRows<{ public_jwk: Record<string, string> }>(
  service.database,
  "select public_jwk from emanet.signing_keys",
);
const publicJwk = rows[0]?.public_jwk ?? assert.fail("there is no key");
const publicKey = createPublicKey({ key: publicJwk, format: "jwk" });
const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** A token of an attacker who has everything except our private key. */
async function forged(
  head: Record<string, unknown> = {},
  body: Record<string, unknown> = {},
  key: KeyObject = stranger.privateKey,
) {
  return new SignJWT({ ...claims, ...body })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid, ...head })
    .sign(key);
}

function hmacWith(key: string | Buffer): string {
  const text = `${part({ alg: "HS256", typ: "at+jwt", kid })}.${payload}`;
  return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
}

async function codeOf(candidate: string): Promise<unknown> {
  const answer = await service.send("GET", "/v1/me", { headers: { authorization: `Bearer ${candidate}` } });
  assert.equal(answer.status, 401, candidate.slice(0, 80));
  assert.match(answer.headers["www-authenticate"] ?? "", /^Bearer /);
  return answer.json?.code;
}

describe("access tokens", () => {
  test("a token of ours has the claims of RFC 9068 and the contract's own", async () => {
    assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), { alg: "ES256", typ: "at+jwt", kid });
    const names = "acct amr aud auth_time client_id exp iat iss jti scope sid sub".split(" ");
    assert.deepEqual(Object.keys(claims).sort(), names);
    assert.equal(claims.iss, `${service.url}/oauth2`);
    assert.equal(claims.aud, service.url);
    assert.equal(Number(claims.exp) - Number(claims.iat), 900);
  });

  test("401: no signature, a public key as a secret, another key, a changed claim", async () => {
    const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
    const der = publicKey.export({ format: "der", type: "spki" });
    const candidates = [
      `${part({ alg: "none", typ: "at+jwt", kid })}.${payload}.`,
      `${part({ alg: "none", typ: "at+jwt" })}.${payload}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${part({ ...claims, acct: claims.sid })}.${signature}`,
      `${header}.${payload}.${Buffer.alloc(64).toString("base64url")}`,
      hmacWith(pem),
      hmacWith(der),
      hmacWith(JSON.stringify(publicJwk)),
      await forged(),
      "undefined",
      "a.b.c",
      `${token}.${token}`,
    ];
    for (const candidate of candidates) assert.equal(await codeOf(candidate), "invalid_token");
  });

  test("401: keys and key addresses inside a token are ignored, and no address is called", async (t) => {
    const trap = await openTrap(t);
    const targets = watchOutgoing(t);
    const jwk = stranger.publicKey.export({ format: "jwk" });
    const { privateKey } = await ownKey();
    const candidates = [
      await forged({ jwk }),
      await forged({ jku: trap.url, kid: "theirs" }),
      await forged({ x5u: trap.url, kid: "theirs" }),
      await forged({ jku: trap.url, x5u: trap.url, jwk }),
      await forged({ jku: "https://keys.evil.example/jwks" }),
      await forged({ kid: trap.url }),
      await forged({ kid: "../../../../dev/null" }),
      await forged({ kid: "' or 1=1 --" }),
      await forged({ kid: "" }),
      await forged({ kid: "x".repeat(2000) }),
      await forged({}, { iss: trap.url }),
      await forged({ jku: trap.url }, { iss: trap.url, aud: trap.url }, privateKey),
      `${part({ alg: "none", typ: "at+jwt", jku: trap.url })}.${payload}.`,
    ];
    for (const candidate of candidates) assert.equal(await codeOf(candidate), "invalid_token");
    const { host } = new URL(service.url);
    assert.deepEqual([...new Set(targets)], [host], "the test's own connections, and no other");
    assert.equal(targets.length, candidates.length);
    assert.equal(trap.calls(), 0);

    // That the watch sees what it is to see: every way to call out is counted, and reaches the trap.
    await assert.rejects(fetch(trap.url));
    await assert.rejects(once(https.get(trap.url), "response"));
    assert.deepEqual([targets.length - candidates.length, trap.calls()], [2, 2]);
  });

  test("401: with our own key, but another type, issuer, audience, session or time", async () => {
    const { privateKey } = await ownKey();
    const now = Number(claims.iat);
    const wrong: [Record<string, unknown>, Record<string, unknown>][] = [
      [{ typ: "JWT" }, {}],
      [{ typ: undefined }, {}],
      [{}, { iss: "https://evil.example/oauth2" }],
      [{}, { aud: "https://evil.example" }],
      [{}, { aud: [] }],
      [{}, { sid: "0199c0de-0000-7000-8000-000000000000" }],
      [{}, { sid: undefined }],
      [{}, { acct: "0199c0de-0000-7000-8000-000000000000" }],
      [{}, { iat: now + 3600, exp: now + 7200 }],
      [{}, { nbf: now + 3600 }],
      [{}, { exp: undefined }],
      [{ crit: ["exp"] }, {}],
    ];
    const right = await forged({}, {}, privateKey);
    assert.equal((await service.send("GET", "/v1/me", { headers: { authorization: `Bearer ${right}` } })).status, 200);
    for (const [head, body] of wrong) {
      const candidate = await forged(head, body, privateKey).catch(() => "not.a.token");
      assert.equal(await codeOf(candidate), "invalid_token", JSON.stringify([head, body]));
    }
    assert.equal(await codeOf(await forged({}, { iat: now - 2000, exp: now - 1000 }, privateKey)), "token_expired");
  });

  test("401: a token with one changed character, also after the token itself was accepted", async () => {
    const fresh = await signInAs(service, demo);
    assert.equal((await service.send("GET", "/v1/me", { headers: fresh.auth })).status, 200);
    // Not the last one: of its six bits the signature has two.
    for (const place of [0.05, 0.3, 0.5, 0.7, 0.9, 0.95]) {
      const at = Math.floor(fresh.token.length * place);
      const changed = fresh.token[at] === "A" ? "B" : "A";
      assert.equal(await codeOf(fresh.token.slice(0, at) + changed + fresh.token.slice(at + 1)), "invalid_token");
    }
    assert.equal((await service.send("GET", "/v1/me", { headers: fresh.auth })).status, 200);
  });

  test("401: an access token past its 900 seconds has expired, and says so", async () => {
    const fresh = await signInAs(service, demo);
    assert.equal((await service.send("GET", "/v1/me", { headers: fresh.auth })).status, 200);
    service.clock.advance(901_000);
    assert.equal(await codeOf(fresh.token), "token_expired");
  });
});

/** The service's own key, taken out of its database the way only a test can: by the same root key. */
async function ownKey(): Promise<{ privateKey: KeyObject }> {
  const { createSigningKeys } = await import("../../keys/index.ts");
  const { createSecrets, masterKeyFromFile } = await import("../../kernel/secrets.ts");
  const { createTransactions } = await import("../../kernel/tx.ts");
  const { systemRandom } = await import("../../kernel/clock.ts");
  const { localMasterKey, openRootKey } = await import("../../keys/index.ts");
  const { silentLog } = await import("../../testing/database.ts");
  const { clock } = service;
  const master = await masterKeyFromFile(`${service.dataDir}/master.key`, systemRandom);
  const openStore = () => Promise.reject(new Error("the database has the root key"));
  const sources = { owner: service.database.owner, clock, random: systemRandom, openStore };
  const secrets = createSecrets(await openRootKey(sources, localMasterKey(master, systemRandom)), systemRandom);
  const transactions = createTransactions(service.database.app, clock, systemRandom, silentLog);
  return createSigningKeys({ transactions, secrets, clock, random: systemRandom }).signer();
}
