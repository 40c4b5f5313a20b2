import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const staff = await tokenFor(service, { as: "staff" });
const one = await tokenFor(service, { state: "suspended" });
const other = await tokenFor(service);

async function get(target: string) {
  const answer = await service.send("GET", target, { headers: staff.auth });
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json as { data: { id: string; account_id?: string }[]; next_cursor: string | null };
}

describe("GET /v1/admin/accounts and members", () => {
  test("staff see every account, page by page, each once", async () => {
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await get(`/v1/admin/accounts?limit=1${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.ok(seen.includes(one.accountId ?? "") && seen.includes(other.accountId ?? ""));
  });

  test("a filter and a single account", async () => {
    const { data } = await get("/v1/admin/accounts?state=suspended");
    assert.deepEqual(
      data.map(({ id }) => id),
      [one.accountId],
    );
    assert.equal(
      (await service.send("GET", `/v1/admin/accounts/${other.accountId}`, { headers: staff.auth })).status,
      200,
    );
    assert.equal(
      (await service.send("GET", `/v1/admin/accounts/${other.personId}`, { headers: staff.auth })).status,
      404,
    );
  });

  test("members of all accounts, and no staff among them", async () => {
    const { data } = await get("/v1/admin/members");
    assert.ok(data.some(({ account_id: id }) => id === one.accountId));
    assert.ok(data.every(({ id }) => id !== staff.personId));
  });
});
