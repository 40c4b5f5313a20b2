/** `login` by a person's approval: the machine may write; reading is approved apart, for an hour. */

import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { loginFile } from "../../packages/agent/src/state/sign-in.ts";
import { agentClientId } from "../../packages/server/src/oauth/index.ts";
import { decideDevice, post, siteOf } from "../../packages/server/src/oauth/testing.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { type Ran, startForAgents, TestAgent, writeTree } from "./testing.ts";

const world = await startForAgents({ after });
const { service, demo, caFile } = world;
const site = siteOf(service);

/** Runs `login` while a person approves the code that it prints. */
async function approved(agent: TestAgent, ...more: readonly string[]): Promise<Ran> {
  let printed = "";
  let decided: Promise<unknown> | null = null;
  const out = (text: string) => {
    printed += text;
    const code = /enter the code (\S+)/.exec(printed)?.[1];
    if (code !== undefined) decided ??= decideDevice(site, demo, code);
  };
  const wait = async () => {
    await decided;
  };
  const args = ["login", "--url", service.url, "--ca-file", caFile, ...more];
  const ran = await agent.run(args, { context: { out, wait } });
  return { ...ran, stdout: printed };
}

test("a machine that a person approved backs up, cannot read, and reads for an hour after a second approval", async (t) => {
  const agent = new TestAgent(await temporaryFolder(t));
  const login = await approved(agent, "--name", "Sunucu 1");
  assert.equal(login.code, 0, login.stderr);
  assert.match(login.stdout, /Signed in to https/);
  const file = loginFile(agent.environment);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const from = writeTree(path.join(agent.folder, "veri"), { "a.txt": "bir", "b/c.txt": "iki" });
  await agent.backUp(from);
  const refused = await agent.run(["snapshots"]);
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /login --read/);

  const reading = await approved(agent, "--read");
  assert.equal(reading.code, 0, reading.stderr);
  const target = path.join(agent.folder, "geri");
  await agent.json("restore", "latest", "--target", target, "--threads", "0");
  assert.equal(readFileSync(path.join(target, "b/c.txt"), "utf8"), "iki");
  const grantIn = (purpose: "reading" | "writing") =>
    JSON.parse(readFileSync(file, "utf8")).identity[purpose].refreshToken as string;
  const isGranted = async (token: string) => {
    const form = { grant_type: "refresh_token", client_id: agentClientId, refresh_token: token };
    return (await post(site, "/oauth2/token", form)).status === 200;
  };
  const first = grantIn("reading");
  assert.equal((await approved(agent, "--read")).code, 0);
  assert.equal(await isGranted(first), false, "a new approval ends the one before");
  const later = Date.now() + 61 * 60_000;
  assert.equal((await agent.run(["snapshots"], { context: { now: () => later } })).code, 4, "the hour is over");

  const [before, reader] = [grantIn("writing"), grantIn("reading")];
  assert.equal((await approved(agent)).code, 0);
  assert.deepEqual(
    [await isGranted(before), await isGranted(reader)],
    [false, false],
    "a new sign-in ends the one before",
  );
  const last = grantIn("writing");
  assert.equal((await agent.run(["logout"])).code, 0);
  assert.equal(await isGranted(last), false);
  assert.equal(existsSync(file), false);
  assert.equal((await agent.run(["backup", from])).code, 4);
});

test("two runs at the same time refresh one grant once, and neither ends it", async (t) => {
  const agent = new TestAgent(await temporaryFolder(t));
  await approved(agent);
  const from = writeTree(path.join(agent.folder, "veri"), { "a.txt": "bir" });
  // Both find the access token too old.
  const later = Date.now() + 16 * 60_000;
  const sources = ["bir", "iki", "üç"];
  const ran = await Promise.all(
    sources.map((source) =>
      agent.run(["backup", from, "--source", source, "--threads", "0"], { context: { now: () => later } }),
    ),
  );
  assert.deepEqual(
    ran.map(({ code }) => code),
    [0, 0, 0],
    ran.map(({ stderr }) => stderr).join(),
  );
  assert.equal((await agent.run(["backup", from, "--source", "bir", "--threads", "0"])).code, 0);
});

test("a login that fails leaves the one before as it was", async (t) => {
  const agent = new TestAgent(await temporaryFolder(t));
  await approved(agent);
  const before = readFileSync(loginFile(agent.environment), "utf8");
  const secret = path.join(agent.folder, "secret");
  writeTree(agent.folder, { secret: "wrong" });
  const args = ["login", "--url", service.url, "--ca-file", caFile, "--client-id", demo.client_id];
  const ran = await agent.run([...args, "--client-secret-file", secret]);
  assert.equal(ran.code, 4, ran.stderr);
  assert.equal(readFileSync(loginFile(agent.environment), "utf8"), before);
});

test("a client's secret comes from a file or from standard input", async (t) => {
  const agent = new TestAgent(await temporaryFolder(t));
  const args = ["login", "--url", service.url, "--ca-file", caFile, "--client-id", demo.client_id];
  const ran = await agent.run([...args, "--client-secret-file", "-"], { stdin: `${demo.client_secret}\n` });
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal((await agent.run(["snapshots"])).code, 0);
  for (const unreadable of [agent.folder, path.join(agent.folder, "yok")]) {
    const refused = await agent.run([...args, "--client-secret-file", unreadable]);
    assert.equal(refused.code, 1);
    assert.ok(refused.stderr.includes(`secret cannot be read: ${unreadable}`), refused.stderr);
  }
});

test("doctor explains a grant that nobody used for too long", async (t) => {
  const agent = new TestAgent(await temporaryFolder(t));
  await approved(agent);
  const days = 91 * 86_400_000;
  service.clock.advance(days);
  const { code, lines } = await agent.run(["doctor", "--json"], { context: { now: () => Date.now() + days } });
  assert.equal(code, 1);
  const found = lines.find(({ check }) => check === "credential");
  assert.equal(found?.ok, false, JSON.stringify(lines));
  assert.match(String(found?.message), /expired, was revoked or is wrong \(invalid_grant\)/);
  assert.match(String(found?.advice), /emanet login/);
});
