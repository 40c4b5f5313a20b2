import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });

test("200 for an auditor of the account; 404 for another account and for none", async () => {
  const { id } = await env.share({ label: "Vergi denetimi" });
  const auditor = await tokenFor(env.service, { accountId: env.accountId, role: "auditor" });
  const read = (of: string, headers: { readonly authorization: string }) =>
    env.service.send("GET", `/v1/audit/shares/${of}`, { headers });
  assert.equal((await read(id, auditor.auth)).json?.label, "Vergi denetimi");
  assert.equal((await read(id, (await tokenFor(env.service)).auth)).status, 404);
  assert.equal((await read(randomUUID(), auditor.auth)).status, 404);
});
