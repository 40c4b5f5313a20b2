/**
 * Rights that one process takes away count in another process on the same database, which has just served the same token.
 * What carries the news (a notice, and the age of a row in memory) is tested in `sessions/subject-cache.test.ts`.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { monotonicMs, systemClock } from "../kernel/clock.ts";
import { tokenFor } from "../testing/accounts.ts";
import { startProgram } from "../testing/child.ts";
import { sendHttp1 } from "../testing/https.ts";
import { noSignInLimits, readFirstRun } from "../testing/people.ts";
import { startTestService } from "../testing/running.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";

/** What processes of one service must share. */
const settings = {
  EMANET_PUBLIC_URL: "https://emanet.example",
  EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  EMANET_LIMIT_ANONYMOUS: "1000000/60",
  ...noSignInLimits,
};

/** The real time, as the other process has it. */
const clock = { ...systemClock, advance: () => assert.fail("the real time cannot be moved") };
const service = await startTestService({ after }, { settings, clock });
const other = await startOther();

type Headers = Readonly<Record<string, string>>;

/** A request of the other process; resolves with the code of its problem, or its status. */
type Ask = (method: string, path: string, headers?: Headers, json?: unknown) => Promise<unknown>;

async function startOther(): Promise<Ask> {
  const dataDir = await temporaryFolder({ after });
  const own = { EMANET_PROFILE: "sandbox", EMANET_LISTEN: "127.0.0.1:0", EMANET_LOG_LEVEL: "error" };
  const args = [{ ...own, ...settings, EMANET_DATA_DIR: dataDir }, service.database.target];
  const program = startProgram({ after }, "serve", { args: args.map((one) => JSON.stringify(one)) });
  const url = (await program.line()).replace("ready ", "");
  const ca = await readFile((await readFirstRun(dataDir)).ca_file, "utf8");
  return async (method, path, headers = {}, json = undefined) => {
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const type = json === undefined ? {} : { "content-type": "application/json" };
    const answer = await sendHttp1(`${url}${path}`, ca, { method, headers: { ...type, ...headers }, ...body });
    const { code } = answer.body.length === 0 ? {} : (JSON.parse(answer.body.toString()) as { code?: unknown });
    return code ?? answer.status;
  };
}

/** Much longer than the contract's second on a busy machine, and shorter than a row that never leaves the memory. */
const patienceMs = 60_000;

/** Asks until the answer is the expected one. */
async function becomes(expected: unknown, ask: () => Promise<unknown>): Promise<void> {
  const end = monotonicMs() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer === expected) return;
    assert.ok(monotonicMs() < end, `the other process still answers ${answer}`);
    await delay(1);
  }
}

async function change(method: string, path: string, headers: Headers, json?: unknown): Promise<void> {
  const answer = await service.send(method, path, { headers, ...(json !== undefined && { json }) });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.body}`);
}

const staff = () => tokenFor(service, { as: "staff" });

describe("what this process changes counts in the other one", () => {
  test("the demotion of a member", async () => {
    const owner = await tokenFor(service);
    const member = await tokenFor(service, { accountId: owner.accountId ?? "", role: "manager" });
    const invite = () => {
      const json = { email: `${randomUUID()}@ornek.example`, full_name: "Yeni", role: "viewer" };
      return other("POST", "/v1/members", member.auth, json);
    };
    assert.equal(await invite(), 201);
    await change("PATCH", `/v1/members/${member.personId}`, owner.auth, { role: "viewer" });
    await becomes("insufficient_role", invite);
  });

  test("the removal of a member", async () => {
    const owner = await tokenFor(service);
    const member = await tokenFor(service, { accountId: owner.accountId ?? "", role: "manager" });
    const read = () => other("GET", "/v1/account", member.auth);
    assert.equal(await read(), 200);
    await change("DELETE", `/v1/members/${member.personId}`, owner.auth);
    await becomes("invalid_token", read);
  });

  test("the revocation of a client, and of a grant that a member gave to a program", async () => {
    const owner = await tokenFor(service);
    const accountId = owner.accountId ?? "";
    for (const as of ["client", "grant"] as const) {
      const program = await tokenFor(service, { accountId, as });
      const read = () => other("GET", "/v1/account", program.auth);
      assert.equal(await read(), 200);
      await change("DELETE", `/v1/oauth-clients/${program.clientId}`, owner.auth);
      await becomes("invalid_token", read);
    }
  });

  test("the end of a session", async () => {
    const member = await tokenFor(service);
    const read = () => other("GET", "/v1/account", member.auth);
    assert.equal(await read(), 200);
    await change("POST", "/v1/auth/logout", member.auth);
    await becomes("invalid_token", read);
  });

  test("the suspension of an account, and its end", async () => {
    const owner = await tokenFor(service);
    const { auth } = await staff();
    const write = () => other("PATCH", "/v1/account", owner.auth, { name: "Ad" });
    const account = `/v1/admin/accounts/${owner.accountId}`;
    assert.equal(await write(), 200);
    await change("POST", `${account}/suspend`, auth, { cause: "unpaid", reason: "a test" });
    await becomes("account_suspended", write);
    await change("POST", `${account}/resume`, auth, { reason: "a test" });
    await becomes(200, write);
  });

  test("another package, and the old one again", async () => {
    const program = await tokenFor(service, { as: "client" });
    const { auth } = await staff();
    const read = () => other("GET", "/v1/oauth-clients", program.auth);
    const account = `/v1/admin/accounts/${program.accountId}`;
    assert.equal(await read(), 200);
    await change("POST", `${account}/package`, auth, { package: "starter", reason: "a test" });
    await becomes("package_required", read);
    await change("POST", `${account}/package`, auth, { package: "corporate", reason: "a test" });
    await becomes(200, read);
  });

  test("the ban of a client and of a session", async () => {
    const { auth } = await staff();
    for (const kind of ["client", "session"] as const) {
      const program = await tokenFor(service, { as: "client" });
      const read = () => other("GET", "/v1/account", program.auth);
      assert.equal(await read(), 200);
      const subject = kind === "client" ? program.clientId : program.sessionId;
      await change("POST", "/v1/admin/bans", auth, { kind, subject, hours: 1, reason: "a test" });
      await becomes("banned", read);
    }
  });

  test("the ban of an address", async () => {
    const { auth } = await staff();
    const read = () => other("GET", "/v1/account");
    assert.equal(await read(), "missing_token");
    await change("POST", "/v1/admin/bans", auth, { kind: "address", subject: "127.0.0.1", hours: 1, reason: "a test" });
    await becomes("banned", read);
  });
});
