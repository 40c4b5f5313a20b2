/**
 * A *batch*: statements that PostgreSQL gets in one write and answers in one. Each is prepared on its connection the first
 * time, by a name that belongs to its text, so PostgreSQL parses it once and can keep its plan.
 *
 * Invariants
 * - One Sync ends a batch. After a statement that fails PostgreSQL runs nothing more of the batch, its COMMIT included, and
 *   the whole batch rejects: no result of a failed batch is ever seen.
 * - Without BEGIN the statements of a batch are one implicit transaction that ends with the batch, so a setting of the
 *   transaction (`set_config(…, true)`) holds for the rest of the batch and for nothing after it.
 */

import type { Connection, PoolClient, Submittable } from "pg";
import { prepareValue } from "pg/lib/utils.js";

export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface StatementResult {
  readonly rows: Readonly<Record<string, unknown>>[];
  /** The command that PostgreSQL ran, e.g. `INSERT`; a COMMIT of a failed transaction is a `ROLLBACK`. */
  readonly command: string;
  /** Rows that were found or changed; null for commands without rows. */
  readonly count: number | null;
}

/** Sends statements in one write; resolves with one result per statement. */
export async function sendBatch(client: PoolClient, statements: readonly Statement[]): Promise<StatementResult[]> {
  const { promise, resolve, reject } = Promise.withResolvers<StatementResult[]>();
  const known = preparedOn(client);
  // A value that cannot be written fails here, before a byte is sent.
  const bound = statements.map(({ text, values = [] }) => {
    return { prepared: preparedOf(known, text), text, values: values.map(written) };
  });
  client.query(new Batch(bound, parsersOf(client), resolve, reject));
  return promise;
}

/** A value as text or bytes. */
function written(value: unknown): unknown {
  if (typeof value === "string") return value;
  // In UTC: `pg` puts the local time together piece by piece. Years of other lengths have another form in PostgreSQL.
  if (value instanceof Date && value.getTime() >= firstDateMs && value.getTime() < endDateMs)
    return value.toISOString();
  return prepareValue(value);
}

const firstDateMs = Date.UTC(1000, 0, 1);
const endDateMs = Date.UTC(10_000, 0, 1);

type Parser = (text: string) => unknown;
type ParserOf = (oid: number) => Parser;

/** A column of a result. */
interface Column {
  readonly name: string;
  readonly parse: Parser;
}

/** What a connection knows of a text. After an error it is `unknown` whether the server has prepared it. */
interface Prepared {
  readonly name: string;
  state: "new" | "prepared" | "unknown";
  /** Asked for once: the columns of a prepared statement cannot change. */
  columns: readonly Column[] | undefined;
}

/** What a message of PostgreSQL carries, as `pg` passes it on. */
interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/** The messages of `pg.Connection`; its declared type is older than its code. */
interface Wire {
  _send(message: Uint8Array): unknown;
  parse(query: { readonly name: string; readonly text: string }): void;
  bind(config: { readonly statement: string; readonly values: readonly unknown[] }): void;
  describe(message: { readonly type: "P" | "S"; readonly name: string }): void;
  execute(portal: { readonly portal: string }): void;
  close(message: { readonly type: "S"; readonly name: string }): void;
  sync(): void;
}

interface BoundStatement {
  readonly prepared: Prepared;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What `pg.Client` runs and passes the server's messages to. */
class Batch implements Submittable {
  readonly #statements: readonly BoundStatement[];
  readonly #parserOf: ParserOf;
  readonly #resolve: (results: StatementResult[]) => void;
  readonly #reject: (error: Error) => void;
  readonly #results: StatementResult[] = [];
  #parsed: Prepared[] = [];
  #rows: Record<string, unknown>[] = [];
  #fault: Error | null = null;

  constructor(
    statements: readonly BoundStatement[],
    parserOf: ParserOf,
    resolve: (results: StatementResult[]) => void,
    reject: (error: Error) => void,
  ) {
    this.#statements = statements;
    this.#parserOf = parserOf;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire;
    const messages = collected(wire, () => this.#write(wire));
    // In one piece: a write of many small pieces costs several times as much.
    wire._send(Buffer.concat(messages));
  }

  #write(wire: Wire): void {
    for (const { prepared, text, values } of this.#statements) {
      const { name } = prepared;
      // To close a name that is free is no error.
      if (prepared.state === "unknown") wire.close({ type: "S", name });
      if (prepared.state !== "prepared") {
        wire.parse({ name, text });
        prepared.state = "prepared";
        this.#parsed.push(prepared);
      }
      wire.bind({ statement: name, values });
      if (prepared.columns === undefined) wire.describe({ type: "P", name: "" });
      wire.execute({ portal: "" });
    }
    wire.sync();
  }

  handleRowDescription({ fields }: RowDescription): void {
    const current = this.#statements[this.#results.length];
    if (current === undefined) return;
    current.prepared.columns ??= fields.map(({ name, dataTypeID }) => ({ name, parse: this.#parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const columns = this.#statements[this.#results.length]?.prepared.columns ?? [];
    const row: Record<string, unknown> = {};
    try {
      for (let at = 0; at < columns.length; at++) {
        const column = columns[at];
        const text = fields[at];
        if (column !== undefined) row[column.name] = text === null || text === undefined ? null : column.parse(text);
      }
    } catch (error) {
      this.#fault ??= error as Error;
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const current = this.#statements[this.#results.length];
    // A statement without rows is described by no message that `pg` passes on.
    if (current !== undefined) current.prepared.columns ??= [];
    // For example `INSERT 0 1`.
    const [first, last] = [text.indexOf(" "), text.lastIndexOf(" ")];
    const command = first < 0 ? text : text.slice(0, first);
    this.#results.push({ rows: this.#rows, command, count: last < 0 ? null : Number(text.slice(last + 1)) });
    this.#rows = [];
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: "" });
  }

  handleError(error: Error): void {
    // The server skips what comes after the statement that failed.
    for (const prepared of this.#parsed) prepared.state = "unknown";
    this.#reject(this.#fault ?? error);
  }

  handleReadyForQuery(): void {
    if (this.#fault !== null) this.#reject(this.#fault);
    else this.#resolve(this.#results);
  }
}

/** The messages that a connection would send while `write` runs. */
function collected(wire: Wire, write: () => void): readonly Uint8Array[] {
  const messages: Uint8Array[] = [];
  const send = wire._send;
  wire._send = (message) => messages.push(message);
  try {
    write();
  } finally {
    wire._send = send;
  }
  return messages;
}

/** Most texts that are prepared. A text with a list of any length in it could otherwise fill the memory of the server. */
const maxNames = 1_000;

/** PostgreSQL prepares it for one execution. */
const unnamed = "";

/** One name per text for the whole process; each connection prepares it for itself. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= maxNames) return unnamed;
  const name = `emanet_${names.size}`;
  names.set(text, name);
  return name;
}

const preparedStatements = new WeakMap<PoolClient, Map<string, Prepared>>();

function preparedOn(client: PoolClient): Map<string, Prepared> {
  const known = preparedStatements.get(client) ?? new Map<string, Prepared>();
  preparedStatements.set(client, known);
  return known;
}

/** Whether a statement failed because a migration changed the columns that it returns after it was prepared. */
export function isStalePlan(error: unknown): boolean {
  return error instanceof Error && "routine" in error && error.routine === "RevalidateCachedQuery";
}

/** Makes the connection prepare every statement again, each when it is next sent. */
export function forgetPrepared(client: PoolClient): void {
  for (const prepared of preparedOn(client).values()) {
    prepared.state = "unknown";
    prepared.columns = undefined;
  }
}

function preparedOf(known: Map<string, Prepared>, text: string): Prepared {
  const name = nameOf(text);
  const prepared = known.get(name) ?? { name, state: "new", columns: undefined };
  if (name !== unnamed) known.set(name, prepared);
  return prepared;
}

function parsersOf(client: PoolClient): ParserOf {
  // Declared for the scalar types only, and it takes any.
  return (oid) => client.getTypeParser(oid as Parameters<typeof client.getTypeParser>[0]) as Parser;
}
