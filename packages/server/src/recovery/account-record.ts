/**
 * Records in the object store: one object per account and one for the platform.
 *
 *   service/accounts/<account id>/<generation, 12 digits>   magic "EMANETA1" · sealed, compressed JSON
 *   service/platform/<generation>
 *
 * A new generation is written beside the old one, which is deleted afterwards: a process that dies in between leaves two, and
 * the higher one counts. The seal names account and generation, so an object under another name does not open.
 */

import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { type ObjectStore, ObjectStoreError } from "@emanet/engine/object-store";
import type { Secrets } from "../kernel/secrets.ts";

/** A row as PostgreSQL writes it in JSON. */
export type RecordedRow = Readonly<Record<string, unknown>>;

export interface AccountRecord {
  /** Null: the platform's. */
  readonly accountId: string | null;
  readonly generation: number;
  readonly tables: Readonly<Record<string, readonly RecordedRow[]>>;
}

/** Where a record is. */
export interface RecordPlace {
  readonly accountId: string | null;
  readonly generation: number;
  readonly name: string;
}

const magic = Buffer.from("EMANETA1");
const accountsPrefix = "service/accounts/";
const platformPrefix = "service/platform/";
const generationDigits = 12;
const accountName = /^service\/accounts\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/(\d{12})$/;
const platformName = /^service\/platform\/(\d{12})$/;
/** An office with ten thousand taxpayers has ten megabytes of JSON. What says more is no record. */
const maxJsonBytes = 256 * 1024 * 1024;

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

export function recordName(accountId: string | null, generation: number): string {
  const number = String(generation).padStart(generationDigits, "0");
  return accountId === null ? `${platformPrefix}${number}` : `${accountsPrefix}${accountId}/${number}`;
}

export async function writeRecord(store: ObjectStore, secrets: Secrets, record: AccountRecord): Promise<void> {
  const { accountId, generation, tables } = record;
  const name = recordName(accountId, generation);
  // Rows compress ten to one at any quality; the best one would take a second per megabyte.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
  const plain = await compress(Buffer.from(JSON.stringify(tables)), { params });
  await store.put(name, Buffer.concat([magic, secrets.seal("account-record", plain, Buffer.from(name))]));
}

/** Reads a record. Null if it is gone: a newer one has replaced it. Throws when it is damaged or of another service. */
export async function readRecord(
  store: ObjectStore,
  secrets: Secrets,
  { accountId, generation, name }: RecordPlace,
): Promise<AccountRecord | null> {
  const object = await store.get(name).catch((error: unknown) => {
    if (error instanceof ObjectStoreError && error.code === "not_found") return null;
    throw error;
  });
  if (object === null) return null;
  if (!magic.equals(object.subarray(0, magic.length))) throw new RangeError(`${name} is no record`);
  const plain = secrets.unseal("account-record", object.subarray(magic.length), Buffer.from(name));
  const json = await decompress(plain, { maxOutputLength: maxJsonBytes });
  return { accountId, generation, tables: JSON.parse(json.toString()) as AccountRecord["tables"] };
}

/** The records of the store, newest first for each account; of one account, of the platform (null), or all (undefined). */
export async function listRecords(
  store: ObjectStore,
  of?: string | null,
): Promise<ReadonlyMap<string | null, readonly RecordPlace[]>> {
  const found = new Map<string | null, RecordPlace[]>();
  for (const prefix of prefixesOf(of))
    for await (const { name } of store.list(prefix)) {
      const place = placeOf(name);
      if (place === null) continue;
      found.set(place.accountId, [...(found.get(place.accountId) ?? []), place]);
    }
  for (const places of found.values()) places.sort((a, b) => b.generation - a.generation);
  return found;
}

function prefixesOf(of: string | null | undefined): readonly string[] {
  if (of === undefined) return [accountsPrefix, platformPrefix];
  return [of === null ? platformPrefix : `${accountsPrefix}${of}/`];
}

function placeOf(name: string): RecordPlace | null {
  const [, accountId, number] = accountName.exec(name) ?? [];
  if (accountId !== undefined) return { accountId, generation: Number(number), name };
  const [, platform] = platformName.exec(name) ?? [];
  return platform === undefined ? null : { accountId: null, generation: Number(platform), name };
}
