import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, get } = await startStaffBench({ after });

test("staff see every account, page by page, each once; and those in one state", async () => {
  const one = await tokenFor(service, { state: "suspended" });
  const other = await tokenFor(service);
  const seen: string[] = [];
  let cursor = "";
  do {
    const page = await get(`/accounts?limit=1${cursor}`);
    seen.push(...listIn<{ id: string }>(page, "data").map(({ id }) => id));
    cursor = page.json?.has_more === true ? `&cursor=${page.json.next_cursor}` : "";
  } while (cursor !== "");
  assert.equal(new Set(seen).size, seen.length);
  assert.ok(seen.includes(one.accountId ?? "") && seen.includes(other.accountId ?? ""));
  const suspended = listIn<{ id: string }>(await get("/accounts?state=suspended"), "data");
  assert.deepEqual(
    suspended.map(({ id }) => id),
    [one.accountId],
  );
});
