/**
 * Conditional requests over every operation of the OpenAPI document: `If-Match` on each PATCH and DELETE,
 * `If-None-Match` on each GET. A new operation without an example here fails.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { makeAgent } from "../../packages/server/src/agents/testing.ts";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { type Bearer, tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { objectIn } from "../../packages/server/src/testing/lists.ts";
import { noSignInLimits } from "../../packages/server/src/testing/people.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { type Operation, readOperations, takes } from "./operations.ts";

type Caller = Awaited<ReturnType<typeof tokenFor>>;

/** A resource that can be read and changed: the caller, its path, and a valid change. */
interface Example {
  readonly by: Caller;
  readonly id?: string;
  readonly json?: object;
}

const service = await startTestService(
  { after },
  {
    settings: {
      ...noSignInLimits,
      EMANET_LIMIT_ANONYMOUS: "1000000/60",
      EMANET_LIMIT_AUDIT_EXPORT: "1000/60",
    },
  },
);
const operations = readOperations();
/** The condition of a part of a file is its offset. */
const withoutVersion = "snapshots.append_file";
const changes = operations.filter(
  ({ method, operationId }) => (method === "PATCH" || method === "DELETE") && operationId !== withoutVersion,
);
const malformed = ["x", '"a" "b"', 'W/"x', '*, "a"', '"a",', ""];

const caller = (wanted: Bearer = {}) => tokenFor(service, wanted);

async function member(by: Caller): Promise<string> {
  return (await caller({ accountId: by.accountId ?? "", role: "viewer" })).personId ?? assert.fail("no person");
}

async function client(by: Caller): Promise<string> {
  const json = { name: "Defter", scopes: ["account:read"] };
  const made = await service.send("POST", "/v1/oauth-clients", { json, headers: by.auth });
  assert.equal(made.status, 201, made.body.toString());
  return objectIn<{ id: string }>(made, "client").id;
}

const agent = async (by: Caller) => (await makeAgent(service, by.accountId ?? "")).id;

const made = (target: string, json: object) => async (by: Caller) => {
  const answer = await service.send("POST", target, { json, headers: by.auth });
  assert.equal(answer.status, 201, answer.body.toString());
  return String(answer.json?.id);
};

/** Canceled: a completed one is verified in the background, which changes it. */
async function snapshot(by: Caller): Promise<string> {
  const id = await made("/v1/snapshots", { source: "ofis" })(by);
  assert.equal((await service.send("POST", `/v1/snapshots/${id}/cancel`, { headers: by.auth })).status, 200);
  return id;
}

async function heldSnapshot(by: Caller): Promise<string> {
  const call = { body: tarOf({ "a.txt": "1" }), headers: { ...by.auth, "content-type": "application/x-tar" } };
  const id = String((await service.send("POST", "/v1/snapshots?source=ofis", call)).json?.id);
  const hold = { json: { reason: "inceleme" }, headers: by.auth };
  assert.equal((await service.send("PUT", `/v1/snapshots/${id}/hold`, hold)).status, 200);
  return id;
}

const webhook = made("/v1/webhooks", { url: "https://hooks.example.com/", events: ["*"] });

async function on(make: (by: Caller) => Promise<string>, json?: object): Promise<Example> {
  const by = await caller();
  return { by, id: await make(by), ...(json && { json }) };
}

const examples: Readonly<Record<string, () => Promise<Example>>> = {
  "account.update": async () => ({ by: await caller(), json: { name: "Başka Ofis" } }),
  "me.update": async () => ({ by: await caller(), json: { full_name: "Başka Ad" } }),
  "members.update": () => on(member, { role: "operator" }),
  "members.remove": () => on(member),
  "oauth_clients.update": () => on(client, { name: "Başka" }),
  "oauth_clients.delete": () => on(client),
  "oauth_grants.end": () => on(async (by) => (await caller({ accountId: by.accountId ?? "", as: "grant" })).sessionId),
  "vaults.update": () => on(made("/v1/vaults", { name: "Muhasebe" }), { name: "Başka" }),
  "sources.update": () => on(made("/v1/sources", { name: "sunucu" }), { name: "başka" }),
  "taxpayers.update": () => on(made("/v1/taxpayers", { name: "Deniz", tax_id: "1234567808" }), { name: "Derya" }),
  "agents.update": () => on(agent, { name: "Başka" }),
  "agents.delete": () => on(agent),
  "webhooks.update": () => on(webhook, { description: "Başka" }),
  "webhooks.delete": () => on(webhook),
  "audit_shares.revoke": () => on(made("/v1/audit/shares", { label: "Denetim" })),
  "snapshots.update": () => on(snapshot, { label: "Ay sonu" }),
  "snapshots.delete": () => on(snapshot),
  "snapshots.release_hold": () => on(heldSnapshot),
  "vaults.delete": () => on(made("/v1/vaults", { name: "Muhasebe" })),
  "sources.delete": () => on(made("/v1/sources", { name: "sunucu" })),
  "taxpayers.delete": () => on(made("/v1/taxpayers", { name: "Deniz", tax_id: "1234567808" })),
  "sessions.end": async () => {
    const by = await caller();
    return { by, id: by.sessionId };
  },
};

function targetOf({ path }: Operation, id = ""): string {
  return path.replaceAll(/\{\w+\}/g, id);
}

describe("If-Match", () => {
  test("is accepted by every PATCH and DELETE of the document, and each has an example here", () => {
    for (const operation of changes) assert.ok(takes(operation, "If-Match"), operation.operationId);
    assert.deepEqual(changes.map(({ operationId }) => operationId).sort(), Object.keys(examples).sort());
  });

  for (const operation of changes) {
    test(`${operation.operationId}: 400 when malformed, 412 for another version, success for the current ETag`, async () => {
      const { by, id, json } = await (examples[operation.operationId] ?? assert.fail("no example"))();
      const target = targetOf(operation, id);
      const read = () => service.send("GET", target, { headers: by.auth });
      const change = (condition: string) =>
        service.send(operation.method, target, {
          ...(json && { json }),
          headers: { ...by.auth, "if-match": condition },
        });
      const before = await read();
      const { etag = "" } = before.headers;
      assert.match(etag, /^"[A-Za-z0-9_-]{22}"$/);
      for (const condition of malformed) {
        assert.equal((await change(condition)).json?.code, "invalid_header", condition);
      }
      for (const condition of ['"other"', `W/${etag}`, `"other", W/${etag}`]) {
        const refused = await change(condition);
        assert.deepEqual([refused.status, refused.json?.code], [412, "precondition_failed"], condition);
      }
      assert.equal((await read()).headers.etag, etag, "a refused request changed nothing");
      const changed = await change(`"other", ${etag}`);
      assert.ok(changed.status < 300, changed.body.toString());
      if (operation.method === "DELETE") return;
      const now = await read();
      assert.notEqual(now.headers.etag, etag);
      assert.equal(changed.headers.etag, now.headers.etag, "the answer has the ETag of the new version");
      assert.equal((await change("*")).status, 200);
    });
  }
});

describe("If-None-Match", () => {
  const reads = operations.filter(({ method }) => method === "GET");

  test("is accepted by every GET, and 400 when malformed", async () => {
    const [owner, staff] = [await caller(), await caller({ as: "staff" })];
    const unknownId = "0199c0de-0000-7000-8000-00000000dead";
    for (const operation of reads) {
      assert.ok(takes(operation, "If-None-Match"), operation.operationId);
      const auths = { public: {}, share: {}, staff: staff.auth, account: owner.auth, person: owner.auth };
      const auth = auths[operation["x-access"]];
      for (const condition of malformed) {
        const headers = { ...auth, "if-none-match": condition };
        const answer = await service.send("GET", targetOf(operation, unknownId), { headers });
        assert.equal(answer.status, 400, `${operation.operationId} ${condition}`);
      }
    }
  });

  test("304 for the current ETag, also weak or in a list, and for *; 200 for another", async () => {
    const { auth } = await caller();
    for (const target of ["/v1/account", "/v1/me", "/v1/members", "/v1/sessions", "/v1/rate-limits/requests"]) {
      const { etag = "" } = (await service.send("GET", target, { headers: auth })).headers;
      const ask = async (condition: string) =>
        (await service.send("GET", target, { headers: { ...auth, "if-none-match": condition } })).status;
      for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        assert.equal(await ask(condition), 304, `${target} ${condition}`);
      }
      assert.equal(await ask('"other"'), 200);
    }
  });
});
