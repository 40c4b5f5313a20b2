import assert from "node:assert/strict";
import { after, test } from "node:test";
import { objectIn } from "../../testing/lists.ts";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("202 for a suspicious snapshot, also by a manager; 409 for any other; programs may not", async () => {
  const files = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`f${i}`, `${i}`]));
  const good = await env.backUp("a", files);
  const bad = await env.backUp("a", Object.fromEntries(Object.keys(files).map((name) => [name, "sifreli"])));
  const shown = await env.call("GET", `/v1/snapshots/${bad}`);
  const { suspicion } = objectIn<{ suspicion: { lost: number; changed: number } }>(shown, "retention");
  assert.deepEqual([suspicion.lost, suspicion.changed], [0, 50]);
  const accept = async (id: string, headers: Readonly<Record<string, string>>) =>
    env.call("POST", `/v1/snapshots/${id}/accept`, undefined, headers);
  assert.equal((await accept(bad, await env.client())).json?.code, "insufficient_scope");
  assert.equal((await accept(good, await env.owner())).json?.code, "state_conflict");
  assert.equal((await accept(bad, await env.as({ role: "manager" }))).json?.kind, "acceptance");
});
