import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testDatabase } from "../../testing/database.ts";
import { sendBatch } from "./batch.ts";

const { owner } = await testDatabase({ after });

async function value(expression: string): Promise<unknown> {
  return (await owner.query<{ value: unknown }>(`select ${expression} as value`)).rows[0]?.value;
}

const exact: readonly (readonly [string, unknown])[] = [
  ["9007199254740991::bigint", Number.MAX_SAFE_INTEGER],
  ["(-9007199254740991)::bigint", Number.MIN_SAFE_INTEGER],
  ["null::bigint", null],
  ["array[1, null, 9007199254740991]::bigint[]", [1, null, Number.MAX_SAFE_INTEGER]],
  ["0.1::numeric + 0.2", "0.3"],
  ["'2024-02-29'::date", "2024-02-29"],
  ["'2024-02-29 12:34:56.789+03'::timestamptz", new Date("2024-02-29T09:34:56.789Z")],
  ["'\\x00ff'::bytea", Buffer.from([0, 255])],
  [`'{"a":[1,null]}'::jsonb`, { a: [1, null] }],
  ["'[1]'::json", [1]],
];

for (const [expression, expected] of exact) {
  test(`${expression} is read without loss`, async () => {
    assert.deepEqual(await value(expression), expected);
  });
}

for (const expression of ["9007199254740992::bigint", "array[9007199254740993]::bigint[]", "'infinity'::timestamptz"]) {
  test(`${expression} throws instead of becoming something else, and the connection stays usable`, async () => {
    await assert.rejects(value(expression), RangeError);
    assert.equal(await value("1"), 1);
  });
}

test("a moment of any year is written without loss", async () => {
  const days = ["0001-01-01", "0999-12-31", "1000-01-01", "2026-11-17", "9999-12-31", "+010000-01-01", "+012026-11-17"];
  const moments = days.map((day) => new Date(`${day}T01:02:03.004Z`));
  const text = "select extract(epoch from $1::timestamptz) * 1000 as ms";
  const client = await owner.connect();
  const results = await sendBatch(
    client,
    moments.map((moment) => ({ text, values: [moment] })),
  );
  client.release();
  assert.deepEqual(
    results.map(({ rows }) => Number(rows[0]?.ms)),
    moments.map((moment) => moment.getTime()),
  );
});
