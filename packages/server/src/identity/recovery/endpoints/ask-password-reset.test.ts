import assert from "node:assert/strict";
import { after, test } from "node:test";
import { locationOf, post, siteOf } from "../../../testing/pages.ts";
import { readFirstRun } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, sentMessages } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after });
const site = siteOf(service);
const { demo } = await readFirstRun(service.dataDir);
const ask = (email: string, headers = {}) => post(site, "/reset-password/request", { email }, headers);

test("a known and an unknown address are answered alike; only the known one gets a mail", async () => {
  const [known, unknown] = [await ask(` ${demo.email} `), await ask("nobody@unknown.example")];
  for (const answer of [known, unknown]) {
    assert.deepEqual([answer.status, locationOf(answer)], [303, "/reset-password/sent"]);
  }
  assert.match((await service.send("GET", "/reset-password/sent")).body.toString(), /Check your mailbox/);
  await messageTo(service.dataDir, demo.email, "password_reset");
  assert.ok((await sentMessages(service.dataDir)).every(({ to }) => to !== "nobody@unknown.example"));
});

test("says in place what is no address; 429 when one is asked for too often; 403 from another site", async () => {
  assert.match((await service.send("GET", "/reset-password/request")).body.toString(), /name="email"/);
  for (const email of ["", "x", "a@b@c.example"]) {
    assert.match((await ask(email)).body.toString(), /This is not an e-mail address/, email);
  }
  for (let count = 0; count < 5; count++) assert.equal((await ask("cok@ornek.example")).status, 303);
  const refused = await ask("cok@ornek.example");
  assert.deepEqual([refused.status, Number(refused.headers["retry-after"]) > 0], [429, true]);
  assert.equal((await ask(demo.email, { origin: "https://evil.example" })).status, 403);
});
