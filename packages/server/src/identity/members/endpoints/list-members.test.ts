import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the members of the account, oldest first, page by page; none that was removed, none of others", async () => {
  const owner = await tokenFor(service);
  await tokenFor(service);
  const ids = [owner.personId];
  for (const role of ["manager", "operator", "viewer"]) {
    service.clock.advance(1_000);
    ids.push((await tokenFor(service, { accountId: owner.accountId ?? "", role })).personId);
  }
  const removed = ids.splice(1, 1)[0];
  assert.equal((await service.send("DELETE", `/v1/members/${removed}`, { headers: owner.auth })).status, 204);
  const seen: unknown[] = [];
  let cursor = "";
  do {
    const page = await service.send("GET", `/v1/members?limit=2${cursor}`, { headers: owner.auth });
    seen.push(...listIn<{ id: string }>(page, "data").map(({ id }) => id));
    cursor = page.json?.has_more === true ? `&cursor=${page.json.next_cursor}` : "";
  } while (cursor !== "");
  assert.deepEqual(seen, ids);
});
