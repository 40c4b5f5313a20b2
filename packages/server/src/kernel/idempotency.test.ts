import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { createNotesTable, noteEndpoints } from "../testing/notes.ts";
import { startTestService, testToken } from "../testing/running.ts";
import { idempotencyKeptMs } from "./idempotency.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const other = "0199c0de-0000-7000-8000-0000000000bb";
const authorization = (accountId = account, clientId = "client-1") =>
  `Bearer ${testToken(accountId, clientId, ["account:read", "account:write"])}`;

const service = await startTestService({ after }, { extra: noteEndpoints });
await createNotesTable(service.database.owner);

function post(key: string, text: string, who = authorization(), on = service) {
  return on.send("POST", "/v1/test-notes", { json: { text }, headers: { authorization: who, "idempotency-key": key } });
}

/** Asked in the scope that sees all accounts: the answer must not depend on what one of them may see. */
async function asSystem<Row extends object>(query: string, values: unknown[]): Promise<Row[]> {
  const client = await service.database.app.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    return (await client.query<Row>(query, values)).rows;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

async function rowsWith(text: string): Promise<number> {
  const [row] = await asSystem<{ n: number }>("select count(*) as n from test_notes where text = $1", [text]);
  return row?.n ?? -1;
}

test("200 parallel identical requests with one key make one row, and each gets the answer, a replay or 409", async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, () => post("parallel", "parallel")));
  const created = answers.filter((answer) => answer.status === 201);
  assert.equal(created.length + answers.filter((answer) => answer.status === 409).length, 200);
  assert.equal(created.filter((answer) => answer.headers["idempotency-replayed"] === undefined).length, 1);
  assert.equal(new Set(created.map((answer) => answer.body.toString())).size, 1);
  assert.equal(await rowsWith("parallel"), 1);
});

test("a key with another body gets 422, and the first answer stays", async () => {
  const first = await post("bodies", "first");
  const second = await post("bodies", "second");
  assert.deepEqual([first.status, second.status], [201, 422]);
  assert.equal(second.json?.code, "idempotency_key_reused");
  assert.equal(await rowsWith("second"), 0);
  assert.deepEqual((await post("bodies", "first")).json, first.json);
});

test("a key belongs to one account, one client and one operation; a renewed token finds it again", async () => {
  const answers = [
    await post("whose", "mine"),
    await post("whose", "mine", authorization(other)),
    await post("whose", "mine", authorization(account, "client-2")),
  ];
  assert.equal(new Set(answers.map((answer) => answer.json?.id)).size, 3);
  const renewed = `Bearer ${testToken(account, "client-1", ["account:write"])}`;
  const replay = await post("whose", "mine", renewed);
  assert.equal(replay.json?.id, answers[0]?.json?.id);
  assert.equal(replay.headers["idempotency-replayed"], "true");
});

test("a person's key is found again after a new sign-in; another member's is another", async () => {
  const { accountId, personId } = await tokenFor(service);
  const bearer = async (who: Parameters<typeof tokenFor>[1]) =>
    (await tokenFor(service, { accountId: accountId ?? "", ...who })).auth.authorization;
  const first = await post("member", "once", await bearer({ personId: personId ?? "" }));
  const again = await post("member", "once", await bearer({ personId: personId ?? "" }));
  assert.deepEqual([first.status, again.headers["idempotency-replayed"]], [201, "true"]);
  assert.deepEqual(again.json, first.json);
  const colleague = await post("member", "once", await bearer({}));
  assert.equal(colleague.headers["idempotency-replayed"], undefined);
});

test("agents share one OAuth client and no keys; programs that act for two members share none either", async () => {
  const { accountId, clientId } = await tokenFor(service, { as: "grant" });
  for (const kind of ["agent", "api"] as const) {
    const bearer = { accountId: accountId ?? "", clientId: clientId ?? "", as: "grant", kind } as const;
    const answers = [
      await post(`shared-${kind}`, "mine", (await tokenFor(service, bearer)).auth.authorization),
      await post(`shared-${kind}`, "mine", (await tokenFor(service, bearer)).auth.authorization),
    ];
    assert.deepEqual(
      answers.map((answer) => [answer.status, answer.headers["idempotency-replayed"]]),
      [
        [201, undefined],
        [201, undefined],
      ],
      kind,
    );
  }
});

test("both spellings of an operation share its keys", async () => {
  const first = await post("spelling", "spelled");
  const headers = { authorization: authorization(), "idempotency-key": "spelling" };
  const second = await service.send("POST", "/test-notes", { json: { text: "spelled" }, headers });
  assert.deepEqual(second.json, first.json);
});

test("a refusal by the handler is an answer too: it is replayed and leaves nothing behind", async () => {
  const first = await post("refused", "fail:conflict");
  const again = await post("refused", "fail:conflict");
  assert.deepEqual([first.status, again.status, again.headers["idempotency-replayed"]], [409, 409, "true"]);
  assert.deepEqual(again.json, first.json);
  assert.equal(await rowsWith("fail:conflict"), 0);
});

test("403, 500 and a body that was never valid are not recorded: the key stays free", async () => {
  for (const [text, status] of [
    ["fail:role", 403],
    ["fail:crash", 500],
    ["", 422],
  ] as const) {
    const key = `free-${status}`;
    assert.equal((await post(key, text)).status, status);
    const next = await post(key, "good at last");
    assert.deepEqual([next.status, next.headers["idempotency-replayed"]], [201, undefined]);
  }
});

test("a request that missed its deadline leaves neither row nor key", async () => {
  const headers = { authorization: authorization(), "idempotency-key": "late" };
  const answer = await service.send("POST", "/v1/test-notes/slow", { headers });
  assert.deepEqual([answer.status, answer.json?.code], [503, "unavailable"]);
  assert.ok(Number(answer.headers["retry-after"]) > 0);
  assert.equal(await rowsWith("slow"), 0);
});

test("a key is forgotten after 24 hours, not before", async () => {
  const first = await post("day", "day");
  service.clock.advance(idempotencyKeptMs - 1);
  assert.deepEqual((await post("day", "day")).json, first.json);
  service.clock.advance(1);
  assert.notEqual((await post("day", "day")).json?.id, first.json?.id);
});

test("a key of the wrong form is refused by name of the fault", async () => {
  for (const key of ["", " ", "ü", "x".repeat(256)]) {
    const headers = { authorization: authorization(), "idempotency-key": Buffer.from(key).toString("latin1") };
    const answer = await service.send("POST", "/v1/test-notes", { json: { text: "x" }, headers });
    assert.deepEqual([answer.status, answer.json?.code], [400, "invalid_header"], JSON.stringify(key));
  }
});

test("recorded answers are sealed at rest", async () => {
  await post("sealed", "gizli-4711");
  const rows = await asSystem<{ row: string }>(
    "select encode(sealed_reply, 'escape') || k::text as row from idempotency_keys k",
    [],
  );
  assert.ok(rows.length > 0);
  assert.ok(rows.every(({ row }) => !row.includes("gizli-4711")));
});

test("the same key after a restart replays", async (t) => {
  const first = await post("restart", "restart");
  await service.running.stop();
  const { database, dataDir, clock } = service;
  const restarted = await startTestService(t, { extra: noteEndpoints, database, dataDir, clock });
  const replay = await post("restart", "restart", authorization(), restarted);
  assert.deepEqual([replay.json, replay.headers["idempotency-replayed"]], [first.json, "true"]);
});
