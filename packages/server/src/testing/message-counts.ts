/** Counts what a process sends to PostgreSQL, by the messages of the protocol. */

import pg from "pg";

/** The three messages of `pg.Connection` that are counted. */
interface Sender {
  query(text: string): void;
  execute(...portal: readonly unknown[]): void;
  sync(): void;
}

export interface MessageCounts {
  readonly statements: number;
  /** Messages after which the server answers at once. */
  readonly roundTrips: number;
}

/** Counts from now on, for every connection of the process. */
export function countMessages(): () => MessageCounts {
  const sender: Sender = pg.Connection.prototype as unknown as Sender;
  const { query, execute, sync } = sender;
  let statements = 0;
  let roundTrips = 0;
  sender.query = function count(text) {
    statements += 1;
    roundTrips += 1;
    query.call(this, text);
  };
  sender.execute = function count(...portal) {
    statements += 1;
    execute.apply(this, [...portal]);
  };
  sender.sync = function count() {
    roundTrips += 1;
    sync.call(this);
  };
  return () => ({ statements, roundTrips });
}
