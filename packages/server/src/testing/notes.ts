/**
 * A small domain that only tests have: notes of an account, with a table behind row-level security. It uses every
 * feature that an endpoint can declare, so the kernel is tested through its public API and not through a product
 * domain that may change.
 */

import { type Kysely, sql } from "kysely";
import type { Pool } from "pg";
import { newestFirst, pageOf, pageQuery, pageRows } from "../kernel/cursors.ts";
import { eventType } from "../kernel/events.ts";
import { type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { closed, Type, text, timestamp, uuid } from "../kernel/http/schema.ts";
import { rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx } from "../kernel/tx.ts";

/** Makes the table in a test's own database. */
export async function createNotesTable(owner: Pick<Pool, "query">): Promise<void> {
  await owner.query(`
    create table emanet.test_notes (
      id uuid primary key, account_id uuid not null, text text not null, created_at timestamptz not null);
    create index on emanet.test_notes (account_id, created_at desc, id desc);
    alter table emanet.test_notes enable row level security;
    alter table emanet.test_notes force row level security;
    create policy tenancy on emanet.test_notes using (emanet.in_scope(account_id));
    grant select, insert, update, delete on emanet.test_notes to emanet_app;`);
}

interface NoteRow {
  id: string;
  account_id: string;
  text: string;
  created_at: Date;
}

function notes(tx: ReadTx): Kysely<{ test_notes: NoteRow }> {
  return tx.db as unknown as Kysely<{ test_notes: NoteRow }>;
}

export async function insertNote(tx: ReadTx, row: NoteRow): Promise<void> {
  await notes(tx).insertInto("test_notes").values(row).execute();
}

const note = closed(
  { id: uuid("Id."), text: text(200, { examples: ["Defter"] }), created_at: timestamp("When.") },
  { title: "TestNote" },
);

function shape(row: NoteRow) {
  return { id: row.id, text: row.text, created_at: row.created_at.toISOString() };
}

export const noteCreated = eventType({
  name: "note.created",
  summary: "A note was made",
  description: "For tests.",
  fields: Type.Object({ note_id: uuid("Id.") }),
});

const common = { tag: "health", description: "For tests.", summary: "For tests" } as const;
const read = { kind: "account", scope: "account:read" } as const;
const write = { kind: "account", scope: "account:write" } as const;
const noteId = closed({ id: uuid("Id.") });

/** Texts that make `create` fail in a chosen way after it has written its row. */
const failures: Readonly<Record<string, () => never>> = {
  "fail:conflict": () => {
    throw new Problem("state_conflict");
  },
  "fail:role": () => {
    throw new Problem("insufficient_role");
  },
  "fail:undeclared": () => {
    throw new Problem("legal_hold");
  },
  "fail:crash": () => {
    throw new Error("a fault with ayse@ornek.example in its message");
  },
};

export const createNote = endpoint(
  {
    ...common,
    id: "notes.create",
    method: "POST",
    path: "/v1/test-notes",
    aliases: ["/test-notes"],
    access: write,
    body: closed({ text: text(200) }),
    replies: { 201: { description: "Made.", body: note } },
    errors: ["state_conflict", "insufficient_role"],
  },
  async (ctx, { principal, body }) => {
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const made = { id: ctx.random.uuid(), account_id: principal.accountId, text: body.text, created_at: tx.now };
      await notes(tx).insertInto("test_notes").values(made).execute();
      tx.audit({ action: "note.created", targets: [{ type: "note", id: made.id }] });
      tx.emit(noteCreated, { note_id: made.id });
      failures[body.text]?.();
      return made;
    });
    return { status: 201, body: shape(row) };
  },
);

export const listNotes = endpoint(
  {
    ...common,
    id: "notes.list",
    method: "GET",
    path: "/v1/test-notes",
    access: read,
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      contains: Type.Optional(text(50, { description: "Only those." })),
    }),
    replies: { 200: { description: "A page.", body: pageOf(note, "TestNotePage") } },
  },
  async (ctx, { principal, query }) => {
    const binding = {
      operation: "notes.list",
      filters: [principal.accountId, query.contains ?? null],
      sorting: newestFirst,
    };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), async (tx) => {
      let select = notes(tx).selectFrom("test_notes").selectAll().where("account_id", "=", principal.accountId);
      if (query.contains !== undefined) select = select.where("text", "like", `%${query.contains}%`);
      return pageRows(select, page);
    });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, shape) };
  },
);

/** The store function without its `where`: only row-level security is left. */
export async function findNoteForgettingTheAccount(tx: ReadTx, id: string): Promise<NoteRow | undefined> {
  return notes(tx).selectFrom("test_notes").selectAll().where("id", "=", id).executeTakeFirst();
}

export const getNote = endpoint(
  {
    ...common,
    id: "notes.get",
    method: "GET",
    path: "/v1/test-notes/{id}",
    access: read,
    params: noteId,
    replies: { 200: { description: "The note.", body: note } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) => findNoteForgettingTheAccount(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: shape(row) };
  },
);

export const updateNote = endpoint(
  {
    ...common,
    id: "notes.update",
    method: "PATCH",
    path: "/v1/test-notes/{id}",
    access: write,
    params: noteId,
    body: closed({ text: text(200) }),
    ifMatch: "required",
    replies: { 200: { description: "Changed.", body: note } },
  },
  async (ctx, call) => {
    const row = await ctx.tx(rowAccessOf(call.principal), async (tx) => {
      const before = await notes(tx)
        .selectFrom("test_notes")
        .selectAll()
        .where("id", "=", call.params.id)
        .forUpdate()
        .executeTakeFirst();
      if (before === undefined) throw new Problem("not_found");
      call.requireMatch(shape(before));
      await notes(tx).updateTable("test_notes").set({ text: call.body.text }).where("id", "=", before.id).execute();
      return { ...before, text: call.body.text };
    });
    return { status: 200, body: shape(row) };
  },
);

/** Waits inside its transaction for longer than its deadline, after writing. */
export const slowNote = endpoint(
  {
    ...common,
    id: "notes.slow",
    method: "POST",
    path: "/v1/test-notes/slow",
    access: write,
    replies: { 201: { description: "Never.", body: note } },
    deadlineMs: 300,
  },
  async (ctx, { principal }) => {
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const made = { id: ctx.random.uuid(), account_id: principal.accountId, text: "slow", created_at: tx.now };
      await notes(tx).insertInto("test_notes").values(made).execute();
      await sql`select pg_sleep(1)`.execute(tx.db);
      return made;
    });
    return { status: 201, body: shape(row) };
  },
);

/** Answers with a field that its reply does not declare. */
export const leakyNote = endpoint(
  {
    ...common,
    id: "notes.leaky",
    method: "GET",
    path: "/v1/test-notes/leaky",
    access: { kind: "public" },
    replies: { 200: { description: "Never.", body: closed({ ok: Type.Boolean() }) } },
  },
  async () => ({ status: 200, body: { ok: true, password: "sızdı" } }),
);

/** Announced and to be retired; a list, so that its `Link` also leads to the next page. */
export const oldNotes = endpoint(
  {
    ...common,
    id: "notes.list_old",
    method: "GET",
    path: "/v1/test-notes/old",
    access: read,
    deprecated: { since: "2026-01-01", sunset: "2027-01-01", link: "/docs/errors" },
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(note, "TestNotePage") } },
  },
  async (ctx, { principal, query }) => {
    const binding = { operation: "notes.list_old", filters: [principal.accountId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) =>
      pageRows(notes(tx).selectFrom("test_notes").selectAll().where("account_id", "=", principal.accountId), page),
    );
    return { status: 200, body: ctx.cursors.page(rows, query, binding, shape) };
  },
);

export const noteEndpoints: readonly Endpoint[] = [
  oldNotes,
  createNote,
  listNotes,
  slowNote,
  leakyNote,
  getNote,
  updateNote,
];
