import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const { auth: headers } = await tokenFor(service, { as: "staff" });
const ban = { kind: "address", subject: "192.0.2.7", hours: 1, reason: "a scanner" };

test("bans are listed newest first; state=active leaves out those that were lifted", async () => {
  const set = async (subject: string) =>
    (await service.send("POST", "/v1/admin/bans", { json: { ...ban, subject }, headers })).json?.id;
  const [first, second] = [await set("192.0.2.7"), await set("192.0.2.8")];
  const json = { reason: "over" };
  assert.equal((await service.send("POST", `/v1/admin/bans/${first}/lift`, { json, headers })).status, 200);
  const listed = async (query: string) => {
    const { data } = (await service.send("GET", `/v1/admin/bans${query}`, { headers })).json ?? assert.fail();
    return (data as { id: string }[]).map(({ id }) => id);
  };
  assert.deepEqual(await listed(""), [second, first]);
  assert.deepEqual(await listed("?state=active"), [second]);
});
