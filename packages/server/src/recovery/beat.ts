/**
 * The beat: a number that the service raises every minute, and with every record that is written before an answer, in the database
 * first and then in the store. So the store never has a higher one than the database, unless the database is an older copy: then
 * nothing may be written before `recover` has run.
 *
 *   service/beat    magic "EMANETB1" · sealed number
 */

import { type ObjectStore, ObjectStoreError } from "@emanet/engine/object-store";
import type { Secrets } from "../kernel/secrets.ts";
import { StartError } from "../kernel/start-error.ts";
import type { Transactions, TxContext } from "../kernel/tx.ts";
import { knownBeat, nextBeat } from "./record-store.ts";

const name = "service/beat";
const magic = Buffer.from("EMANETB1");

export const ofService: TxContext = {
  actor: { kind: "system" },
  context: {},
  signal: new AbortController().signal,
};

interface Sources {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
}

/** The beat of the store; 0 if it has none yet. */
export async function readStoreBeat(store: ObjectStore, secrets: Secrets): Promise<number> {
  const object = await store.get(name).catch((error: unknown) => {
    if (error instanceof ObjectStoreError && error.code === "not_found") return null;
    throw error;
  });
  if (object === null) return 0;
  const number = secrets.unseal("store-beat", object.subarray(magic.length), Buffer.from(name));
  return Number(number.readBigUInt64BE());
}

/** Raises the beat in the database, at least to `least`, and then in the store. */
export async function raiseBeat({ transactions, secrets }: Sources, store: ObjectStore, least = 0): Promise<void> {
  const beat = await transactions.run(ofService, { kind: "platform" }, (tx) => nextBeat(tx, least));
  // A slower process may write a lower number after a faster one. The next minute raises it again, and a low one refuses nothing.
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(beat));
  await store.put(name, Buffer.concat([magic, secrets.seal("store-beat", number, Buffer.from(name))]));
}

/** Throws a StartError if the store has seen a newer database than this one. */
export async function assertStoreIsNotNewer({ transactions, secrets }: Sources, store: ObjectStore): Promise<void> {
  const known = await transactions.read(ofService, { kind: "platform" }, (tx) => knownBeat(tx));
  const seen = await readStoreBeat(store, secrets);
  if (seen <= known) return;
  if (known === 0)
    throw new StartError(
      "database_empty",
      "The database is new, and the object store has the content of an earlier one. Run `npm start -- rebuild-index` with the same " +
        "settings, then start the service; docs/DISASTER.md says what comes back. To begin with nothing, set EMANET_STORAGE to an empty store.",
    );
  throw new StartError(
    "database_older_than_store",
    `The object store was used with a newer database than this one (it counts ${seen - known} further: one for each minute of service and for each change of access). ` +
      "Nothing is served, because new work would overwrite what the store has. If the newer database still exists, use that one. " +
      "Otherwise run `npm start -- recover` with the same settings, then start the service; docs/DISASTER.md says what it does.",
  );
}
