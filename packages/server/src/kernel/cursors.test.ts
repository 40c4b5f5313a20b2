import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { createNotesTable, noteEndpoints } from "../testing/notes.ts";
import { startTestService, testToken } from "../testing/running.ts";
import { scaled } from "../testing/scale.ts";
import { systemRandom } from "./clock.ts";
import {
  type CursorBinding,
  createCursors,
  defaultPageSize,
  maxCursorLength,
  type Position,
  sortable,
} from "./cursors.ts";
import { Problem } from "./problems.ts";
import { createSecrets } from "./secrets.ts";

const cursors = createCursors(createSecrets(Buffer.alloc(32, 1), systemRandom));
const sorting = sortable("-key", "key");
const binding: CursorBinding = { operation: "things.list", filters: ["account-1", { status: null }], sorting };
const refused = (error: unknown) => error instanceof Problem && error.code === "invalid_cursor";

/** Newest first, ties by id: what every store's SQL does. */
const compare = (a: string, b: string) => (a === b ? 0 : a < b ? 1 : -1);
const inOrder = (a: Position, b: Position) => compare(a.key, b.key) || compare(a.id, b.id);
const isAfter = (row: Position, after: Position) => inOrder(after, row) < 0;

function readPage(rows: readonly Position[], limit: number, cursor: string | undefined) {
  const request = { limit, ...(cursor !== undefined && { cursor }) };
  const { after, take } = cursors.start(request, binding);
  const found = rows.filter((row) => after === null || isAfter(row, after)).toSorted(inOrder);
  return cursors.page(found.slice(0, take), request, binding, (row) => row.id);
}

describe("pages", () => {
  test("whatever is equal and whatever is inserted meanwhile, nothing that was there is lost or repeated", () => {
    const row = fc.record({ key: fc.constantFrom("2026-01-01", "2026-01-02", "2026-01-03"), id: fc.uuid() });
    const unique = (rows: Position[]) => [...new Map(rows.map((one) => [one.id, one])).values()];
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 60 }).map(unique),
        fc.array(row, { maxLength: 30 }),
        fc.integer({ min: 1, max: 10 }),
        (start, later, limit) => {
          const rows = [...start];
          const seen: string[] = [];
          let cursor: string | undefined;
          for (let page = 0; page < 200; page++) {
            const { data, has_more, next_cursor } = readPage(rows, limit, cursor);
            assert.ok(data.length <= limit && (data.length === limit || !has_more));
            assert.equal(has_more, next_cursor !== null);
            seen.push(...data);
            if (next_cursor === null) break;
            cursor = next_cursor;
            const inserted = later.shift();
            if (inserted !== undefined && !rows.some((one) => one.id === inserted.id)) rows.push(inserted);
          }
          assert.equal(new Set(seen).size, seen.length, "repeated");
          for (const { id } of start) assert.ok(seen.includes(id), "lost");
        },
      ),
      { seed: 1, numRuns: scaled(200, 10_000) },
    );
  });

  test("the last page says that it is the last, also when it is exactly full", () => {
    const rows = Array.from({ length: 10 }, (_, index) => ({ key: "k", id: String(index) }));
    assert.deepEqual([readPage(rows, 10, undefined).has_more, readPage(rows, 9, undefined).has_more], [false, true]);
    assert.deepEqual(readPage([], 10, undefined), { data: [], has_more: false, next_cursor: null });
  });

  test("without a size a page has the default one", () => {
    assert.equal(cursors.start({}, binding).take, defaultPageSize + 1);
  });

  test("a page size may change on the way", () => {
    const rows = Array.from({ length: 30 }, (_, index) => ({ key: "k", id: String(index).padStart(2, "0") }));
    const first = readPage(rows, 10, undefined);
    const second = readPage(rows, 25, first.next_cursor ?? "");
    assert.equal(new Set([...first.data, ...second.data]).size, 30);
  });
});

describe("a cursor", () => {
  const rows = [
    { key: "2026-01-01T00:00:00.000Z", id: "b" },
    { key: "2026-01-01T00:00:00.000Z", id: "a" },
  ];
  const cursor = readPage(rows, 1, undefined).next_cursor ?? "";

  test("is good for what it was made for, in any process with the same key, and nothing else", () => {
    const elsewhere = createCursors(createSecrets(Buffer.alloc(32, 1), systemRandom));
    assert.deepEqual(elsewhere.start({ cursor }, binding).after, rows[0]);
    const sameFilters = { operation: "things.list", filters: ["account-1", { status: null }], sorting };
    assert.deepEqual(cursors.start({ cursor }, sameFilters).after, rows[0]);
    for (const other of [
      { ...binding, operation: "others.list" },
      { ...binding, filters: ["account-2", { status: null }] },
      { ...binding, filters: ["account-1", { status: "completed" }] },
      { ...binding, filters: ["account-1", {}] },
      { ...binding, filters: null },
    ]) {
      assert.throws(() => cursors.start({ cursor }, other), refused, JSON.stringify(other));
    }
    assert.deepEqual(cursors.start({ cursor, sort: "-key" }, binding).after, rows[0], "the list's own order, by name");
    assert.throws(() => cursors.start({ cursor, sort: "key" }, binding), refused, "the other order");
    const otherKey = createCursors(createSecrets(Buffer.alloc(32, 2), systemRandom));
    assert.throws(() => otherKey.start({ cursor }, binding), refused);
  });

  test("that was changed in any bit, cut short or made up is refused", () => {
    const bytes = Buffer.from(cursor, "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      assert.throws(() => cursors.start({ cursor: changed.toString("base64url") }, binding), refused, `bit ${bit}`);
    }
    for (let length = 0; length < bytes.length; length++) {
      const short = bytes.toString("base64url", 0, length);
      assert.throws(() => cursors.start({ cursor: short }, binding), refused, `length ${length}`);
    }
    for (const made of ["x", "AAAA", "A".repeat(maxCursorLength), Buffer.alloc(16).toString("base64url")]) {
      assert.throws(() => cursors.start({ cursor: made }, binding), refused, made);
    }
  });

  test("of a long sort key still fits where it must be sent back", () => {
    const long = [{ key: "x".repeat(200), id: systemRandom.uuid() }, ...rows];
    assert.ok((readPage(long, 1, undefined).next_cursor ?? "").length <= maxCursorLength);
  });
});

describe("over HTTP", async () => {
  const account = "0199c0de-0000-7000-8000-0000000000aa";
  const as = (accountId: string) => ({
    authorization: `Bearer ${testToken(accountId, "client-1", ["account:read", "account:write"])}`,
  });
  const headers = as(account);
  const service = await startTestService({ after }, { extra: noteEndpoints });
  await createNotesTable(service.database.owner);
  const create = (text: string) => service.send("POST", "/v1/test-notes", { headers, json: { text } });
  const list = (query: string, who = headers) => service.send("GET", `/v1/test-notes${query}`, { headers: who });

  test("60 notes of one moment are read in pages of 7 while others are made, each once; Link leads on", async () => {
    const made: unknown[] = [];
    for (let index = 0; index < 60; index++) made.push((await create(`note ${index}`)).json?.id);
    const seen: unknown[] = [];
    let next: string | undefined = "?limit=7";
    while (next !== undefined) {
      const { status, json, headers: answered } = await list(next);
      assert.equal(status, 200);
      const data = (json?.data ?? []) as readonly { readonly id: string }[];
      seen.push(...data.map((note) => note.id));
      await create("made meanwhile");
      const link = /^<(.+)>; rel="next"$/.exec(answered.link ?? "")?.[1];
      assert.equal(link === undefined, json?.next_cursor === null);
      next = link === undefined ? undefined : new URL(link).search;
      if (link !== undefined) {
        assert.ok(link.startsWith(`${service.url}/v1/test-notes?`));
        assert.equal(new URL(link).searchParams.get("cursor"), json?.next_cursor);
        assert.equal(new URL(link).searchParams.get("limit"), "7");
      }
    }
    assert.equal(new Set(seen).size, seen.length);
    for (const id of made) assert.ok(seen.includes(id));
  });

  test("sort=created_at reads the same notes the other way round, equal moments and pages included", async () => {
    const readAll = async (sort: string) => {
      const seen: unknown[] = [];
      let cursor = "";
      do {
        const { json } = await list(`?limit=9&sort=${sort}${cursor === "" ? "" : `&cursor=${cursor}`}`);
        seen.push(...((json?.data ?? []) as readonly { readonly id: string }[]).map((note) => note.id));
        cursor = String(json?.next_cursor ?? "");
      } while (cursor !== "");
      return seen;
    };
    const newest = await readAll("-created_at");
    assert.ok(newest.length > 60);
    assert.deepEqual(await readAll("created_at"), newest.toReversed());
  });

  test("400 invalid_cursor with another filter, for another account, when changed and when it is no cursor", async () => {
    const cursor = String((await list("?limit=2")).json?.next_cursor);
    assert.equal((await list(`?limit=5&cursor=${cursor}`)).status, 200);
    for (const [query, who] of [
      [`?cursor=${cursor}&contains=note`, headers],
      [`?cursor=${cursor}&sort=created_at`, headers],
      [`?cursor=${cursor}`, as("0199c0de-0000-7000-8000-0000000000bb")],
      [`?cursor=${cursor.slice(0, -2)}`, headers],
      [`?cursor=${cursor.slice(1)}`, headers],
      ["?cursor=", headers],
      ["?cursor=%21%21", headers],
      [`?cursor=${"A".repeat(maxCursorLength + 1)}`, headers],
    ] as const) {
      const { status, json } = await list(query, who);
      assert.deepEqual([status, json?.code], [400, "invalid_cursor"], query);
    }
  });

  test("422 for an order that the list does not have", async () => {
    for (const sort of ["text", "-text", "created_at,id", "+created_at", ""]) {
      const { status, json } = await list(`?sort=${sort}`);
      assert.deepEqual([status, json?.code], [422, "validation_failed"], sort);
    }
  });

  test("422 for a page size that is none", async () => {
    for (const limit of ["0", "101", "-1", "1.5", "x", ""]) {
      const { status, json } = await list(`?limit=${limit}`);
      assert.deepEqual([status, json?.code], [422, "validation_failed"], limit);
    }
  });
});
