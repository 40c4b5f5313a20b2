import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter } from "../../../testing/pages.ts";
import { noSignInLimits, readFirstRun } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { jobsDone, messageTo, sentMessages, tokenIn } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const { demo } = await readFirstRun(service.dataDir);

async function ask(email: string) {
  return service.send("POST", "/v1/auth/password-reset/request", { json: { email } });
}

describe("/v1/auth/password-reset", () => {
  const tokens = async (count: number) => {
    if (count > 0) await messageTo(service.dataDir, demo.email, "password_reset", count);
    const mails = (await sentMessages(service.dataDir)).filter(({ template }) => template === "password_reset");
    return mails.map(tokenIn);
  };

  const use = async (token: string | undefined) => {
    const json = { token, new_password: "mor kedi on iki saat" };
    return (await service.send("POST", "/v1/auth/password-reset", { json })).status;
  };

  /** Opens the page of a link, which spends nothing. */
  const isGood = async (token: string) => {
    const { status } = await (await enter(service, "/reset-password", token)).jar.get("/reset-password/new");
    return status === 200;
  };

  const goodOnes = async () => {
    const good: boolean[] = [];
    for (const token of await tokens(0)) good.push(await isGood(token));
    return good.filter(Boolean).length;
  };

  test("an unknown address gets the same answer and no mail; a link ends after an hour", async () => {
    const known = await ask(demo.email);
    const unknown = await ask("nobody@unknown.example");
    assert.deepEqual([known.status, known.json], [unknown.status, unknown.json]);
    const token = (await tokens(1)).at(-1) ?? "";
    assert.ok(await isGood(token));
    service.clock.advance(3600 * 1000);
    assert.ok(!(await isGood(token)));
    assert.equal(await use(token), 404);
    assert.ok((await sentMessages(service.dataDir)).every(({ to }) => to !== "nobody@unknown.example"));
  });

  test("asking again ends no link; three are good at once, also when asked for at once, and the answer does not tell", async () => {
    const before = (await tokens(0)).length;
    await ask(demo.email);
    const [first = ""] = (await tokens(before + 1)).slice(before);
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(demo.email)));
    for (const answer of answers) assert.deepEqual([answer.status, answer.json], [202, { accepted: true }]);
    await jobsDone(service, "identity.mail_password_reset", "messages.send");
    assert.equal(await goodOnes(), 3);
    assert.ok(await isGood(first), "those who ask in my name do not end my link");
    service.clock.advance(3600 * 1000);
    await ask(demo.email);
    assert.equal((await tokens(before + 4)).length, before + 4, "expired links do not count");
    assert.equal(await goodOnes(), 1);
  });
});
