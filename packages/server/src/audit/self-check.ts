/**
 * The self-check: reads whole chains, as an outside verifier does, and compares them with their checkpoints in the database and in the
 * object store. It finds what was changed, deleted or put in by hand, and names the first bad record.
 */

import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { ObjectStore } from "@emanet/engine/object-store";
import { hashedParts } from "../kernel/audit.ts";
import type { ReadTx } from "../kernel/tx.ts";
import type { Receipts } from "../receipts/index.ts";
import { checkpointsBetween } from "./checkpoint-store.ts";
import { checkpointFolder } from "./checkpoints.ts";
import { findHead, genesisHash, greatestSeq, type RecordRow, readRecords } from "./record-store.ts";

/** What is wrong with a chain: its first bad record, and why. */
export interface Fault {
  readonly seq: number;
  readonly finding: string;
}

export interface CheckedChain {
  /** Good records from the beginning on. */
  readonly records: number;
  readonly fault: Fault | null;
}

interface CheckSources {
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
  readonly store: ObjectStore;
  readonly receipts: Receipts;
  readonly signal: AbortSignal;
}

/** Records of one read: a megabyte or so. */
const recordsPerRead = 1_000;

/** After every moment that a clock can have: checkpoints of all times are compared. */
const endOfTime = new Date(8.64e15);

export async function checkChain(sources: CheckSources, chain: string): Promise<CheckedChain> {
  const { read, signal } = sources;
  const stored = await storedHashes(sources, chain);
  if ("finding" in stored) return { records: 0, fault: stored };
  // In this order: what is appended meanwhile makes the head greater, never the greatest number.
  const greatest = await read((tx) => greatestSeq(tx, chain));
  const head = await read((tx) => findHead(tx, chain));
  let end = { seq: 0, hash: genesisHash };
  const badAt = (seq: number, finding: string) => ({ records: end.seq, fault: { seq, finding } });
  while (end.seq < head.seq) {
    signal.throwIfAborted();
    const rows = await read((tx) => readRecords(tx, chain, end.seq, recordsPerRead));
    if (rows.length === 0) return badAt(end.seq + 1, "it is missing");
    const hashes = await checkpointHashes(sources, chain, rows, stored.hashes);
    for (const row of rows) {
      if (row.seq > head.seq) break;
      const finding = findingOf(row, end) ?? checkpointFinding(row, hashes);
      if (finding !== null) return badAt(end.seq + 1, finding);
      end = row;
    }
  }
  if (greatest > head.seq) return badAt(head.seq + 1, "it is after the end of the chain: it was put in");
  // A chain never gets shorter: a checkpoint after its end is of records that were taken out.
  if (Math.max(0, ...stored.hashes.keys()) > head.seq) return badAt(head.seq + 1, "it is missing");
  if (!end.hash.equals(head.hash)) return badAt(head.seq, "the end of the chain has another hash");
  return { records: end.seq, fault: null };
}

function findingOf(row: RecordRow, before: { readonly seq: number; readonly hash: Buffer }): string | null {
  if (row.seq !== before.seq + 1) return "it is missing";
  if (!row.prev_hash.equals(before.hash)) return "its prev_hash is not the hash of the record before it";
  return row.hash.equals(hashOf(row)) ? null : "its hash is not that of its content";
}

function checkpointFinding(row: RecordRow, hashes: ReadonlyMap<number, readonly string[]>): string | null {
  const hash = row.hash.toString("hex");
  const isRight = hashes.get(row.seq)?.every((one) => one === hash) ?? true;
  return isRight ? null : "a checkpoint has another hash: this record or one before it was rewritten";
}

function hashOf({ prev_hash, seq, ...row }: RecordRow): Buffer {
  const { chain, id, action, actor, targets, context, outcome, metadata } = row;
  const record = { chain, id, action, actor, targets, context, outcome, metadata };
  const { before, after } = hashedParts({ ...record, occurred_at: row.occurred_at.toISOString() } as never);
  return createHash("sha256").update(prev_hash).update(`${before}${seq}${after}`).digest();
}

/** The hashes that checkpoints have for these records: those of the database and those of the object store. */
async function checkpointHashes(
  { read }: CheckSources,
  chain: string,
  rows: readonly RecordRow[],
  stored: ReadonlyMap<number, string>,
): Promise<ReadonlyMap<number, readonly string[]>> {
  const [first, last] = [rows.at(0)?.seq ?? 0, rows.at(-1)?.seq ?? 0];
  const found = new Map<number, string[]>();
  for (const { seq, hash } of await read((tx) => checkpointsBetween(tx, chain, first, last, endOfTime)))
    found.set(seq, [hash.toString("hex")]);
  for (const [seq, hash] of stored) {
    if (seq >= first && seq <= last) found.set(seq, [...(found.get(seq) ?? []), hash]);
  }
  return found;
}

/**
 * Objects that are read of each chain: more than a week of hours. A history that is rewritten contradicts the newest checkpoint that was
 * made before, and the self-check runs every night.
 */
const objectsPerChain = 200;

async function storedHashes(
  { store, receipts, signal }: CheckSources,
  chain: string,
): Promise<{ readonly hashes: ReadonlyMap<number, string> } | Fault> {
  let names: string[] = [];
  for await (const { name } of store.list(checkpointFolder(chain), { signal })) {
    if (name.endsWith(".jws")) names.push(name);
    if (names.length >= 2 * objectsPerChain) names = names.slice(-objectsPerChain);
  }
  const keys = new Map(
    (await receipts.keys()).map((key) => [key.kid, createPublicKey({ key: { ...key }, format: "jwk" })]),
  );
  const hashes = new Map<number, string>();
  for (const name of names.slice(-objectsPerChain)) {
    const seq = Number(name.slice(checkpointFolder(chain).length, -".jws".length));
    const said = openCheckpoint(Buffer.from(await store.get(name, { signal })).toString(), keys);
    if (said?.chain !== chain || said.seq !== seq)
      return { seq, finding: "its checkpoint in the object store is not signed by us" };
    hashes.set(seq, said.hash);
  }
  return { hashes };
}

/** The payload of a checkpoint with a right signature; null for any other text. */
function openCheckpoint(jws: string, keys: ReadonlyMap<string, KeyObject>) {
  const [header = "", payload = "", signature = ""] = jws.split(".");
  try {
    const { kid, typ } = JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string; typ: string };
    const key = keys.get(kid);
    if (key === undefined || typ !== "emanet-audit-checkpoint+jws") return null;
    if (!verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))) return null;
    return JSON.parse(Buffer.from(payload, "base64url").toString()) as { chain: string; seq: number; hash: string };
  } catch {
    return null;
  }
}
