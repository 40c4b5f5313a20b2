import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn } from "../../testing/lists.ts";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("200: newest first, by state; a client that is held to other vaults sees none", async () => {
  await env.putPolicy(`/v1/vaults/${env.vaultId}/retention`, { keep_last: 1 });
  const answer = await env.call("GET", "/v1/pending-acts?state=waiting");
  assert.deepEqual(
    listIn<{ kind: string }>(answer, "data").map(({ kind }) => kind),
    ["policy_change"],
  );
  assert.deepEqual((await env.call("GET", "/v1/pending-acts?state=done")).json?.data, []);
  const held = await env.as({ as: "client", kind: "api", vaultIds: [] });
  assert.deepEqual((await env.call("GET", "/v1/pending-acts", undefined, held)).json?.data, []);
});
