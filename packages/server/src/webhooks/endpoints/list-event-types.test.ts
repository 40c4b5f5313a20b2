import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the catalogue has every event of both published lists, and ours", async () => {
  const { auth } = await tokenFor(service, { as: "client", kind: "api" });
  const answer = await service.send("GET", "/v1/event-types", { headers: auth });
  const { data } = answer.json as unknown as { data: { name: string }[] };
  const names = data.map(({ name }) => name);
  const published = [
    ...["snapshot.started", "snapshot.completed", "snapshot.failed", "restore.started", "restore.completed"],
    ...["account.suspended", "billing.charged", "byos.token_expired", "subscription.renewed", "subscription.failed"],
    ...["audit.share_created", "audit.share_revoked", "mukellef.transferred"],
    ...["restore.failed", "source.overdue", "source.suspicious", "vault.quota_warning", "webhook.test"],
  ];
  assert.deepEqual(
    published.filter((name) => !names.includes(name)),
    [],
  );
});
