import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the metadata is the same document in each place where clients look, and any page may read it", async () => {
  const paths = [
    "/oauth2/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/oauth2",
    "/oauth2/.well-known/openid-configuration",
  ];
  const answers = await Promise.all(paths.map((path) => service.send("GET", path)));
  for (const answer of answers) {
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["access-control-allow-origin"], "*");
    assert.deepEqual(answer.json, answers[0]?.json);
  }
  const [metadata] = answers.map((answer) => answer.json);
  assert.equal(metadata?.issuer, `${service.url}/oauth2`);
  assert.deepEqual(metadata?.code_challenge_methods_supported, ["S256"]);
  assert.ok(!JSON.stringify(metadata?.grant_types_supported).includes("password"));
});

test("every address in the metadata is served", async () => {
  const { json } = await service.send("GET", "/oauth2/.well-known/oauth-authorization-server");
  for (const [name, value] of Object.entries(json ?? {})) {
    if (!/_endpoint$|_uri$/.test(name)) continue;
    const path = String(value).slice(service.url.length);
    const method = /token|revocation|introspection|device/.test(name) ? "POST" : "GET";
    const { status } = await service.send(method, path);
    assert.ok(status !== 404 && status !== 405, name);
  }
});

test("the keys are public ones for ES256, with nothing private in them", async () => {
  const { json, headers } = await service.send("GET", "/oauth2/jwks");
  const keys = json?.keys as Record<string, string>[];
  assert.ok(keys.length >= 1);
  for (const key of keys) {
    assert.deepEqual(Object.keys(key).sort(), ["alg", "crv", "kid", "kty", "use", "x", "y"]);
  }
  assert.equal(headers["access-control-allow-origin"], "*");
});
