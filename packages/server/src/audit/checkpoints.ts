/**
 * Makes checkpoints: a signed statement that a chain had a hash at a number. Each is kept in the database and put into the object
 * store, so that somebody who can change the database cannot rewrite a chain unnoticed.
 */

import { type ObjectStore, ObjectStoreError } from "@emanet/engine/object-store";
import type { RowAccess } from "../kernel/principal.ts";
import type { ReadTx, Transactions, TxContext } from "../kernel/tx.ts";
import type { Receipts } from "../receipts/index.ts";
import {
  type CheckpointRow,
  findCheckpoint,
  insertCheckpoint,
  lastCheckpoint,
  setStored,
  unstoredCheckpoints,
} from "./checkpoint-store.ts";
import { findHash, findHead } from "./record-store.ts";
import type { TimeStamps } from "./time-stamps.ts";

/** Why a checkpoint was made: an hour with changes, an export, an act of staff or with a fresh second factor. */
export type CheckpointReason = CheckpointRow["reason"];

export type NewCheckpoint = Omit<CheckpointRow, "stored_at" | "time_stamp">;

export interface CheckpointSources {
  readonly receipts: Receipts;
  readonly publicUrl: string;
  readonly now: Date;
}

/** `platform`, or the id of an account. */
export function accessOfChain(chain: string): Extract<RowAccess, { kind: "account" | "platform" }> {
  return chain === "platform" ? { kind: "platform" } : { kind: "account", accountId: chain };
}

export function accountOfChain(chain: string): string | null {
  return chain === "platform" ? null : chain;
}

/** The checkpoint of a chain at a number: the one that there is, or a new one, which is not in the database yet. */
export async function checkpointAt(
  read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>,
  sources: CheckpointSources,
  { chain, seq, reason }: { readonly chain: string; readonly seq: number; readonly reason: CheckpointReason },
): Promise<NewCheckpoint> {
  const known = await read((tx) => findCheckpoint(tx, chain, seq));
  if (known !== undefined) return known;
  const hash = await read((tx) => findHash(tx, chain, seq));
  if (hash === undefined) throw new Error(`an audit chain has no record ${seq}`);
  return signCheckpoint(sources, { chain, seq, hash, reason });
}

async function signCheckpoint(
  { receipts, publicUrl, now }: CheckpointSources,
  of: Pick<CheckpointRow, "chain" | "seq" | "hash" | "reason">,
): Promise<NewCheckpoint> {
  const { chain, seq, hash, reason } = of;
  const payload = { iss: publicUrl, chain, seq, hash: hash.toString("hex"), made_at: now.toISOString(), reason };
  const jws = await receipts.sign({ typ: "emanet-audit-checkpoint+jws" }, payload);
  return { ...of, account_id: accountOfChain(chain), jws, made_at: now };
}

/** Of a job, whose signal ends it. */
export type JobTxContext = TxContext & { readonly signal: AbortSignal };

interface MakingSources extends Omit<CheckpointSources, "now"> {
  readonly transactions: Transactions;
  readonly openStore: () => Promise<ObjectStore>;
  readonly timeStamps: TimeStamps | null;
}

/** Makes a checkpoint where a chain has records after the last one, and stores those that are not in the object store yet. */
export async function makeCheckpoint(
  sources: MakingSources,
  context: JobTxContext,
  chain: string,
  reason: CheckpointReason,
): Promise<void> {
  const { transactions } = sources;
  const access = accessOfChain(chain);
  const { head, last, now } = await transactions.read(context, access, async (tx) => ({
    head: await findHead(tx, chain),
    last: await lastCheckpoint(tx, chain),
    now: tx.now,
  }));
  if (head.seq > (last?.seq ?? 0)) {
    const made = await signCheckpoint({ ...sources, now }, { chain, ...head, reason });
    await transactions.run(context, access, (tx) => insertCheckpoint(tx, made));
  }
  await storeCheckpoints(sources, context, chain);
}

/** So many are read at once. */
const checkpointsPerRead = 100;

async function storeCheckpoints(sources: MakingSources, context: JobTxContext, chain: string): Promise<void> {
  const { transactions, openStore } = sources;
  const access = accessOfChain(chain);
  for (;;) {
    const rows = await transactions.read(context, access, (tx) => unstoredCheckpoints(tx, chain, checkpointsPerRead));
    if (rows.length === 0) return;
    const store = await openStore();
    // All are stored first: an authority that does not answer must not keep them from the object store.
    for (const { seq, jws } of rows) await putOnce(store, checkpointName(chain, seq), Buffer.from(jws), context.signal);
    for (const { seq, jws } of rows) {
      const stamp = (await sources.timeStamps?.stamp(Buffer.from(jws), context.signal)) ?? null;
      if (stamp !== null) await putOnce(store, timeStampName(chain, seq), stamp, context.signal);
      await transactions.run(context, access, (tx) => setStored(tx, chain, seq, stamp));
    }
  }
}

/** A checkpoint never changes: what a name holds stays. A repeated run of the job meets its own object. */
async function putOnce(store: ObjectStore, name: string, body: Buffer, signal: TxContext["signal"]): Promise<void> {
  signal.throwIfAborted();
  try {
    await store.put(name, body, { ifAbsent: true });
  } catch (error) {
    if (!(error instanceof ObjectStoreError) || error.code !== "exists") throw error;
  }
}

/** More digits than a safe integer has, so that names are in the order of numbers. */
const seqDigits = 16;

export function checkpointFolder(chain: string): string {
  return `audit/${chain.replaceAll("-", "")}/`;
}

export function checkpointName(chain: string, seq: number): string {
  return `${checkpointFolder(chain)}${String(seq).padStart(seqDigits, "0")}.jws`;
}

export function timeStampName(chain: string, seq: number): string {
  return `${checkpointFolder(chain)}${String(seq).padStart(seqDigits, "0")}.tsr`;
}
