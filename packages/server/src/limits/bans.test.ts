import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { endpoints } from "../endpoints.ts";
import { tokenFor } from "../testing/accounts.ts";
import { openKeptAlive } from "../testing/kept-alive.ts";
import { startTestService, type TestService } from "../testing/running.ts";

/** Few, so that a test need not ask a thousand times. */
const most = 40;
const settings = { EMANET_LIMIT_SUSPICIOUS: String(most), EMANET_LIMIT_LOGIN_IP: "100000/60" };

type Headers = Readonly<Record<string, string>>;

async function open(overrides: Headers = {}) {
  const service = await startTestService({ after }, { settings: { ...settings, ...overrides } });
  const client = openKeptAlive({ after }, service, 4);
  const staff = await tokenFor(service, { as: "staff" });
  const lookAround = (count: number, headers: Headers = {}) =>
    client.all(Array.from({ length: count }, () => ({ path: `/v1/${randomUUID()}`, headers })));
  return { service, staff, lookAround };
}

/** The active bans, once `subject` is among them: bans are set when the answer has left. */
async function bansWith(service: TestService, auth: Headers, subject: string | null) {
  for (let waited = 0; waited < 30_000; waited += 20) {
    const { json } = await service.send("GET", "/v1/admin/bans?state=active", { headers: auth });
    const bans = json?.data as readonly { readonly kind: string; readonly subject: string }[];
    if (bans.some((ban) => ban.subject === subject)) return bans;
    await delay(20);
  }
  return assert.fail(`${subject} was not banned`);
}

describe("an address is not banned by what others make it send", () => {
  test("requests that a page of another site makes a browser send do not count", async () => {
    const { service, staff, lookAround } = await open();
    const image = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" };
    const frame = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" };
    const neighbour = { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" };
    const old = { origin: "https://elsewhere.example" };
    for (const headers of [image, frame, neighbour, old]) await lookAround(most + 5, headers);
    // A program that shows a token cannot hide behind the mark, and its ban shows that the time for others has passed.
    const scanner = await tokenFor(service, { as: "client" });
    await lookAround(most, { ...image, ...scanner.auth });
    const bans = await bansWith(service, staff.auth, scanner.personId);
    assert.deepEqual(
      bans.map(({ kind }) => kind),
      ["client"],
    );
    for (const headers of [{ "sec-fetch-site": "none" }, { "sec-fetch-site": "same-origin", origin: service.url }]) {
      await lookAround(most / 2, headers);
    }
    await bansWith(service, staff.auth, "127.0.0.1");
  });

  test("an answer 429 does not count: the limits have dealt with it", async () => {
    const { service, staff, lookAround } = await open({ EMANET_LIMIT_ANONYMOUS: "10/600" });
    const statuses = await lookAround(2 * most);
    assert.ok(statuses.filter((status) => status === 429).length > most);
    const scanner = await tokenFor(service, { as: "client" });
    await lookAround(most, scanner.auth);
    assert.equal((await bansWith(service, staff.auth, scanner.personId)).length, 1);
  });
});

test("a banned address signs in, refreshes, resets, enrols, allows programs, reads docs and health; the rest is refused", async () => {
  const { service, staff } = await open({ EMANET_LIMIT_SUSPICIOUS: "100000" });
  const ban = { kind: "address", subject: "127.0.0.1", hours: 1, reason: "a test" };
  assert.equal((await service.send("POST", "/v1/admin/bans", { json: ban, headers: staff.auth })).status, 201);
  const isBanned = async (method: string, path: string, headers: Headers = {}) => {
    const { status, body } = await service.send(method, path, { headers });
    return status === 403 && /banned|access_denied/.test(body.toString());
  };
  const refused: string[] = [];
  for (const { spec } of endpoints) {
    const path = spec.path.replaceAll(/\{\w+\}/g, randomUUID());
    const headers: Headers = spec.wire === "pages" || spec.tag === "docs" ? { accept: "*/*" } : {};
    if (await isBanned(spec.method, path, headers)) refused.push(spec.id);
  }
  const closed = endpoints.filter(({ spec }) => spec.access.kind !== "public").map(({ spec }) => spec.id);
  assert.deepEqual(refused.sort(), [...closed, "applications.submit", "downloads.read"].sort());
  for (const [method, path] of [
    ["GET", "/nowhere"],
    ["GET", "/oauth2/nowhere"],
    ["DELETE", "/health/live"],
  ] as const) {
    assert.ok(await isBanned(method, path), path);
  }
});

test("an agent that looks around is banned alone: the others, who share its OAuth client, go on", async () => {
  const { service, staff, lookAround } = await open();
  const { accountId, clientId } = await tokenFor(service, { as: "grant" });
  const agent = { accountId: accountId ?? "", clientId: clientId ?? "", as: "grant", kind: "agent" } as const;
  const [scanner, honest] = [await tokenFor(service, agent), await tokenFor(service, agent)];
  await lookAround(most, scanner.auth);
  const bans = await bansWith(service, staff.auth, scanner.sessionId);
  assert.deepEqual(
    bans.map(({ kind }) => kind),
    ["session"],
  );
  const read = async ({ auth }: typeof honest) => (await service.send("GET", "/v1/account", { headers: auth })).status;
  assert.deepEqual([await read(scanner), await read(honest)], [403, 200]);
});
