/** Programs of an account for tests: made over the wire, and their secrets held against the check of the token endpoint. */

import assert from "node:assert/strict";
import { systemRandom } from "../kernel/clock.ts";
import { createTransactions } from "../kernel/tx.ts";
import { silentLog } from "../testing/database.ts";
import type { TestService } from "../testing/running.ts";
import { verifyClientSecret } from "./client-store.ts";

type Auth = Readonly<Record<string, string>>;

/** Makes a program; its id and its secret. */
export async function makeClient(service: TestService, headers: Auth, json: object = {}) {
  const usual = { name: "Gece yedeği", scopes: ["snapshots:read"] };
  const made = await service.send("POST", "/v1/oauth-clients", { json: { ...usual, ...json }, headers });
  assert.equal(made.status, 201, made.body.toString());
  const { client, secret } = made.json as {
    client: { id: string; role: string; responsible_id: string; review_since: string | null };
    secret: string;
  };
  return { client, secret, target: `/v1/oauth-clients/${client.id}` };
}

/** Replaces a program's secret; `If-Match` is read first unless the headers have it. */
export async function rotateSecret(service: TestService, target: string, json: object, headers: Auth) {
  const { etag = "" } = (await service.send("GET", target, { headers })).headers;
  return service.send("POST", `${target}/rotate-secret`, { json, headers: { "if-match": etag, ...headers } });
}

/** The check that the token endpoint makes, with the service's own keys. */
export async function isGoodSecret(service: TestService, clientId: string, secret: string): Promise<boolean> {
  const transactions = createTransactions(service.database.app, service.clock, systemRandom, silentLog);
  const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
  const tx: Parameters<typeof verifyClientSecret>[0]["tx"] = (scope, work) => transactions.run(context, scope, work);
  return verifyClientSecret({ tx, secrets: service.running.secrets }, clientId, secret);
}
