import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { auditedActions, makeSourceBy, namesIn } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const change = (id: string, json: object) => service.send("PATCH", `/v1/sources/${id}`, { json, headers: owner.auth });

describe("PATCH /v1/sources/{id}", () => {
  test("200: old names stay as aliases; a name that comes back is no alias any more", async () => {
    const id = await makeSourceBy(service, owner.auth, "bir");
    assert.deepEqual((await change(id, { name: "iki" })).json?.aliases, ["bir"]);
    assert.deepEqual((await change(id, { name: "iki" })).json?.aliases, ["bir"], "the same name again");
    service.clock.advance(1000);
    const third = await change(id, { name: "üç" });
    assert.deepEqual([third.json?.name, third.json?.aliases], ["üç", ["bir", "iki"]]);
    const back = await change(id, { name: "bir" });
    assert.deepEqual([back.json?.name, back.json?.aliases], ["bir", ["iki", "üç"]]);
    assert.deepEqual(await namesIn(service, owner.auth, "/v1/sources?name=bir"), ["bir"]);
    const actions = await auditedActions(service, owner.accountId);
    assert.deepEqual(actions, ["source.created", ...Array.from({ length: 4 }, () => "source.changed")]);
  });

  test("409: the name or a former name of another source", async () => {
    const one = await makeSourceBy(service, owner.auth, "dört");
    await change(one, { name: "beş" });
    const other = await makeSourceBy(service, owner.auth, "altı");
    for (const name of ["dört", "beş"])
      assert.equal((await change(other, { name })).json?.code, "state_conflict", name);
    assert.equal((await change(other, { name: "0199c0de-0000-7000-8000-00000000dead" })).status, 422);
  });

  test("200: two renames to one name at once: one gets it", async () => {
    const ids = [await makeSourceBy(service, owner.auth, "yedi"), await makeSourceBy(service, owner.auth, "sekiz")];
    const answers = await Promise.all(ids.map((id) => change(id, { name: "dokuz" })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  });

  test("200: what is expected can be taken back", async () => {
    const id = await makeSourceBy(service, owner.auth, "on", { expected_every: 3600, kind: "database" });
    const changed = await change(id, { expected_every: null });
    assert.deepEqual([changed.json?.expected_every, changed.json?.kind, changed.json?.name], [null, "database", "on"]);
  });
});
