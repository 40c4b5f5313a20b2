import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, beforeEach, describe, test } from "node:test";
import { makeClient, rotateSecret } from "../accounts/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { noSignInLimits, readFirstRun } from "../testing/people.ts";
import { storedRows } from "../testing/rows.ts";
import { type Sent, startTestService } from "../testing/running.ts";
import { messageTo, tokenIn } from "../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);
const owner = await tokenFor(service, { accountId: demo.account_id });
const staff = await tokenFor(service, { as: "staff" });
// What the job of the next minute would write is not written here.
await storedRows(service.database, "update emanet.jobs set run_at = 'infinity' where task = 'recovery.write_records'");

/** What the record of the account lacks. */
const lacking = () =>
  storedRows(service.database, "select id from emanet.account_changes where account_id = $1", [demo.account_id]);
const generation = async () =>
  (
    await storedRows<{ generation: string }>(
      service.database,
      "select generation from emanet.account_records where account_id = $1",
      [demo.account_id],
    )
  )[0]?.generation;

interface Act {
  readonly name: string;
  readonly send: (headers: Readonly<Record<string, string>>) => Promise<Sent>;
  /** Nobody of the account sends it. */
  readonly isNotTheirs?: true;
}

const json = (name: string) => ({ name, scopes: ["snapshots:read"] });
const acts: readonly Act[] = [
  {
    name: "a new program",
    send: (headers) => service.send("POST", "/v1/oauth-clients", { json: json("Gece"), headers }),
  },
  {
    name: "a new secret",
    send: async (headers) => {
      const { target } = await makeClient(service, owner.auth);
      return rotateSecret(service, target, { overlap_s: 0 }, headers);
    },
  },
  {
    name: "a suspension by staff",
    isNotTheirs: true,
    send: (headers) =>
      service.send("POST", `/v1/admin/accounts/${demo.account_id}/suspend`, {
        ...{ json: { cause: "unpaid", reason: "ödenmedi" }, headers },
      }),
  },
];

beforeEach(() =>
  storedRows(service.database, "update emanet.accounts set state = 'active' where id = $1", [demo.account_id]),
);

describe("what takes access away or makes a program is in the store's record when it is answered", () => {
  for (const { name, send, isNotTheirs } of acts)
    for (const key of [null, randomUUID()])
      test(`${name}, ${key === null ? "without a key" : "with an Idempotency-Key"}`, async () => {
        const { auth } = isNotTheirs ? staff : owner;
        const answer = await send({ ...auth, ...(key !== null && { "idempotency-key": key }) });
        assert.ok(answer.status < 300, answer.body.toString());
        assert.deepEqual(await lacking(), []);
      });

  test("a password that is set by the link of a mail", async () => {
    await service.send("POST", "/v1/auth/password-reset/request", { json: { email: demo.email } });
    const token = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset"));
    const before = await generation();
    const sent = { json: { token, new_password: "turuncu defter yedi deniz" } };
    assert.equal((await service.send("POST", "/v1/auth/password-reset", sent)).status, 204);
    assert.deepEqual(await lacking(), []);
    assert.notEqual(await generation(), before);
  });

  test("a dump of before it is older than the store, also within the same minute", async () => {
    const beat = async () =>
      (await storedRows<{ beat: string }>(service.database, "select beat from emanet.store_beat"))[0];
    await storedRows(service.database, "update emanet.jobs set run_at = 'infinity' where task = 'recovery.beat'");
    const before = await beat();
    await makeClient(service, owner.auth);
    assert.ok(Number((await beat())?.beat) > Number(before?.beat));
  });

  test("many requests with keys at once do not wait for each other's connections", async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        service.send("POST", "/v1/oauth-clients", {
          ...{ json: json(`Gece ${at}`), headers: { ...owner.auth, "idempotency-key": randomUUID() } },
        }),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.deepEqual(await lacking(), []);
  });
});
