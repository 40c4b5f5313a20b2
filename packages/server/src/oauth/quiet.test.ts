import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { SignJWT } from "jose";
import { openTrap, watchOutgoing } from "../testing/outgoing.ts";
import { startTestService } from "../testing/running.ts";
import { addClient, authorizePath, CookieJar, callback, demoOf, pkce, post, roomyLimits, siteOf } from "./testing.ts";

test("the library says nothing past the log, neither when it is loaded nor when it is made", async () => {
  const provider = path.join(import.meta.dirname, "provider.ts");
  const script = `(await import(${JSON.stringify(provider)})).createProvider("https://emanet.example")`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal(stdout + stderr, "");
});

test("nothing that a request names is ever fetched", async (t) => {
  const trap = await openTrap(t);
  const bait = trap.url;
  const service = await startTestService({ after }, { settings: roomyLimits });
  const site = siteOf(service);
  const demo = await demoOf(service);
  const client = await addClient(service, {
    accountId: demo.account_id,
    grants: ["authorization_code"],
    redirectUris: [callback],
  });
  const assertion = await new SignJWT({})
    .setProtectedHeader({ alg: "HS256", jku: bait, x5u: bait })
    .setIssuer(bait)
    .setSubject(bait)
    .sign(Buffer.alloc(32));
  const jar = new CookieJar(site);
  const targets = watchOutgoing(t);
  for (const more of [{ request_uri: bait }, { client_id: bait }, { redirect_uri: bait }, { resource: bait }]) {
    assert.ok((await jar.get(authorizePath(client, pkce().challenge, more))).status < 500);
  }
  const fields = { client_assertion: assertion, token: assertion, client_id: bait, jwks_uri: bait };
  const type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  for (const target of ["token", "introspect", "revoke", "device_authorization"]) {
    const form = { grant_type: "client_credentials", client_assertion_type: type, ...fields };
    const { status } = await post(site, `/oauth2/${target}`, form);
    assert.ok(status === 400 || status === 401, target);
  }
  const { host } = new URL(service.url);
  assert.deepEqual([...new Set(targets)], [host], "the test's own connections, and no other");
  assert.equal(trap.calls(), 0);
});
