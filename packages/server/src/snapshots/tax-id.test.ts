/** New snapshots that name their taxpayer by its tax number. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { snapshotTest } from "./testing.ts";

const env = await snapshotTest({ after });
const unknown = "019a0000-0000-7000-8000-000000000000";

interface Result {
  readonly status: number;
  readonly snapshot?: { readonly vault_id: string };
  readonly problem?: { readonly errors?: readonly { readonly pointer: string }[] };
}

async function batch(items: readonly object[], headers: Readonly<Record<string, string>> = {}) {
  const call = { json: { items }, headers: { ...env.auth, ...headers } };
  const answer = await env.service.send("POST", "/v1/snapshots/batch", call);
  return { answer, results: (answer.json?.results ?? []) as readonly Result[] };
}

const statuses = (results: readonly Result[]) => results.map(({ status }) => status);

test("a taxpayer is named by its tax number; numbers of others and vaults that a client is held from are refused alike", async () => {
  const make = async (headers: Readonly<Record<string, string>>, tax_id: string) => {
    const json = { name: "Örnek", tax_id };
    return (await env.service.send("POST", "/v1/taxpayers", { json, headers })).json?.vault_id as string;
  };
  const owner = await env.as({});
  const own = await make(owner, "4540536920");
  const stranger = await tokenFor(env.service);
  await make(stranger.auth, "10000000146");
  const items = [
    { source: "defter", tax_id: "4540536920" },
    { source: "defter", tax_id: "10000000146" },
    { source: "defter", tax_id: "4540536920", taxpayer_id: unknown },
  ];
  const { answer, results } = await batch(items);
  assert.deepEqual(statuses(results), [201, 422, 422], answer.body.toString());
  assert.equal(results[0]?.snapshot?.vault_id, own);
  assert.equal(results[1]?.problem?.errors?.[0]?.pointer, "/items/1/tax_id");
  assert.ok(!answer.body.toString().includes("10000000146"), "the answer does not repeat it");
  const held = await env.as({ as: "client", kind: "api", vaultIds: [unknown] });
  const refused = await batch([{ source: "defter", tax_id: "4540536920" }], held);
  assert.deepEqual(statuses(refused.results), [422]);
});
