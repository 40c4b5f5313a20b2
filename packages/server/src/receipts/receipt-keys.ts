/**
 * Signs receipts and publishes the keys. Keys are read from the database and kept for a minute; the first is made when it is
 * first needed, the next when the newest is a year old.
 */

import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { Clock, Random } from "../kernel/clock.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions, Tx, TxContext } from "../kernel/tx.ts";
import { isDue } from "./rules.ts";
import { addKey, allKeys, lockKeys, type ReceiptKeyRow } from "./store.ts";

export interface JwsHeader {
  readonly typ: string;
}

/** An Ed25519 key as RFC 8037 has it. */
export interface PublishedKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
  readonly alg: "EdDSA";
  readonly use: "sig";
  readonly created_at: string;
  /** Signed by the key before this one; null for the first. */
  readonly introduction: string | null;
}

export interface Receipts {
  /** A compact JWS. Equal payloads give equal bytes while the key is the same. */
  sign(header: JwsHeader, payload: object): Promise<string>;
  /** Every key that has ever signed, the newest first. */
  keys(): Promise<PublishedKey[]>;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly receipts: Receipts;
  }
}

interface Sources {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
}

/** A key that another process has made signs here within this time. Until then the one before it is used. */
const viewMaxAgeMs = 60_000;

interface View {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly published: readonly PublishedKey[];
  readonly createdAt: Date;
  readonly readAt: number;
}

export function openReceipts(sources: Sources): Receipts {
  let view: Promise<View> | null = null;
  const current = async (): Promise<View> => {
    const now = sources.clock.now();
    const known = await view?.catch(() => null);
    const isFresh = known && Math.abs(now.getTime() - known.readAt) < viewMaxAgeMs && !isDue(known.createdAt, now);
    if (isFresh) return known;
    view = readView(sources);
    return view;
  };
  return {
    async sign(header, payload) {
      const { kid, privateKey } = await current();
      return compactJws({ alg: "EdDSA", kid, ...header }, payload, privateKey);
    },
    keys: async () => [...(await current()).published],
  };
}

async function readView(sources: Sources): Promise<View> {
  const context: TxContext = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal };
  const rows = await sources.transactions.run(context, { kind: "platform" }, async (tx) => {
    const [newest] = await allKeys(tx);
    if (newest === undefined || isDue(newest.created_at, tx.now)) await makeNext(tx, sources);
    return allKeys(tx);
  });
  const [newest] = rows;
  if (newest === undefined) throw new Error("there is no receipt key");
  return {
    kid: newest.kid,
    privateKey: openPrivate(sources.secrets, newest),
    published: rows.map(published),
    createdAt: newest.created_at,
    readAt: sources.clock.now().getTime(),
  };
}

/** Makes the next key, unless another process has just done so. */
async function makeNext(tx: Tx, { secrets, random }: Sources): Promise<void> {
  await lockKeys(tx);
  const [last] = await allKeys(tx);
  if (last !== undefined && !isDue(last.created_at, tx.now)) return;
  const kid = random.bytes(12).toString("base64url");
  const pair = generateKeyPairSync("ed25519");
  const { x = "" } = pair.publicKey.export({ format: "jwk" });
  const key: ReceiptKeyRow = {
    ...{ number: (last?.number ?? 0) + 1, kid, public_key: Buffer.from(x, "base64url"), created_at: tx.now },
    sealed_private: secrets.seal("receipt-key", exportPrivate(pair.privateKey), Buffer.from(kid)),
    introduction: null,
  };
  const introduction = last === undefined ? null : introduce(secrets, last, key);
  await addKey(tx, { ...key, introduction });
  tx.audit({ action: "receipt_key.created", targets: [{ type: "receipt_key", id: kid }] });
}

function introduce(secrets: Secrets, last: ReceiptKeyRow, next: ReceiptKeyRow): string {
  const { kty, crv, x, kid } = published(next);
  return compactJws(
    { alg: "EdDSA", kid: last.kid, typ: "emanet-receipt-key+jws" },
    { kty, crv, x, kid },
    openPrivate(secrets, last),
  );
}

function published({ kid, public_key: key, introduction, created_at: createdAt }: ReceiptKeyRow): PublishedKey {
  return {
    ...{ kty: "OKP", crv: "Ed25519", x: key.toString("base64url"), kid, alg: "EdDSA", use: "sig" },
    ...{ created_at: createdAt.toISOString(), introduction },
  };
}

function exportPrivate(key: KeyObject): Buffer {
  return key.export({ format: "der", type: "pkcs8" });
}

function openPrivate(secrets: Secrets, { kid, sealed_private: sealed }: ReceiptKeyRow): KeyObject {
  if (sealed === null) throw new Error("the newest receipt key has no private part");
  const der = secrets.unseal("receipt-key", sealed, Buffer.from(kid));
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

/** RFC 7515, section 7.1. */
function compactJws(header: object, payload: object, key: KeyObject): string {
  const signed = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${signed}.${sign(null, Buffer.from(signed), key).toString("base64url")}`;
}
