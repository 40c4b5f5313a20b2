import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentClientId } from "../../../oauth/index.ts";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { storedRows } from "../../../testing/rows.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("lists what members allowed, agents included, in pages; no sign-ins, no machines, nothing that has ended", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const app = await tokenFor(service, { accountId, as: "grant", scopes: ["snapshots:read"] });
  const agent = await tokenFor(service, { accountId, as: "grant", kind: "agent", clientId: agentClientId });
  const ended = await tokenFor(service, { accountId, as: "grant" });
  await storedRows(service.database, "update emanet.sessions set revoked_at = now() where id = $1", [ended.sessionId]);
  await tokenFor(service, { accountId, as: "client" });
  await tokenFor(service, { as: "grant" });
  const seen: Record<string, unknown>[] = [];
  let cursor: unknown = null;
  do {
    const query = `limit=1${cursor === null ? "" : `&cursor=${cursor}`}`;
    const page = await service.send("GET", `/v1/oauth-grants?${query}`, { headers: owner.auth });
    assert.equal(page.status, 200, page.body.toString());
    seen.push(...listIn<Record<string, unknown>>(page, "data"));
    cursor = page.json?.next_cursor ?? null;
  } while (cursor !== null);
  assert.deepEqual(seen.map((grant) => grant.id).sort(), [app.sessionId, agent.sessionId].sort());
  const shown = Object.fromEntries(seen.map((grant) => [String(grant.id), grant]));
  const { client_name, kind, member_id } = shown[agent.sessionId] ?? {};
  assert.deepEqual(
    { client_name, kind, member_id },
    { client_name: "Emanet", kind: "agent", member_id: agent.personId },
  );
  assert.deepEqual(shown[app.sessionId]?.scopes, ["snapshots:read"]);
});
