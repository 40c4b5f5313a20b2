/**
 * The keys that sign access tokens, cached in one process: read from the database, decrypted, and kept for a short time.
 * A token can name a key that another process has just made. Then the keys are read again, at most once a second, so
 * that invented names cost almost nothing.
 */

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Clock, monotonicMs, type Random } from "../kernel/clock.ts";
import type { PublicKey } from "../kernel/principal.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions, Tx, TxContext } from "../kernel/tx.ts";
import { planRotation } from "./rules.ts";
import { deleteExpired, insertKey, liveKeys, lockRotation, retireOthers, type SigningKeyRow } from "./store.ts";

export interface SigningKeys {
  /** The key that signs now. */
  signer(): Promise<{ readonly kid: string; readonly privateKey: KeyObject }>;
  /** The key with that name, if it is ours and may still verify. */
  verifier(kid: string): Promise<KeyObject | undefined>;
  /** Every key that may verify now or soon; `/oauth2/jwks` publishes them. */
  jwks(): Promise<{ readonly keys: readonly PublicKey[] }>;
}

/** A new key is published an hour before its first use, so a cache of one minute is always current. */
const viewMaxAgeMs = 60_000;

/** The shortest time between two reads that unknown key names cause. */
const rereadPauseMs = 1_000;

interface OpenKey {
  readonly kid: string;
  readonly activeAt: Date;
  readonly expiresAt: Date | null;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly jwk: PublicKey;
}

export interface SigningKeySources {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
}

export function createSigningKeys(sources: SigningKeySources): SigningKeys {
  const { clock } = sources;
  let view: { readonly keys: readonly OpenKey[]; readonly readAt: number; readonly asOf: number } | undefined;
  let reading: Promise<readonly OpenKey[]> | undefined;
  const read = (): Promise<readonly OpenKey[]> => {
    reading ??= readKeys(sources)
      .then((keys) => {
        view = { keys, readAt: monotonicMs(), asOf: clock.now().getTime() };
        return keys;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  const current = async (): Promise<readonly OpenKey[]> => {
    const now = clock.now().getTime();
    const fresh = view !== undefined && Math.abs(now - view.asOf) < viewMaxAgeMs;
    const keys = view !== undefined && fresh ? view.keys : await read();
    return keys.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > now);
  };
  return {
    async signer() {
      const keys = await current();
      const now = clock.now();
      // In a new database the only key, made by another process, can be slightly ahead of this clock.
      const key = keys.find(({ activeAt }) => activeAt <= now) ?? keys.at(-1);
      if (key === undefined) throw new Error("there is no signing key");
      return key;
    },
    async verifier(kid) {
      const named = (keys: readonly OpenKey[]) => keys.find((key) => key.kid === kid)?.publicKey;
      const known = named(await current());
      if (known !== undefined || monotonicMs() - (view?.readAt ?? 0) < rereadPauseMs) return known;
      return named(await read());
    },
    jwks: async () => ({ keys: (await current()).map(({ jwk }) => jwk) }),
  };
}

/** Makes the next key when it is due, and the first one at once. Any process can run it at any time. */
export async function rotate(
  tx: Tx,
  { secrets, random }: Pick<SigningKeySources, "secrets" | "random">,
): Promise<void> {
  await lockRotation(tx);
  await deleteExpired(tx);
  const plan = planRotation(await liveKeys(tx), tx.now);
  if (plan.kind === "keep") return;
  const kid = random.bytes(12).toString("base64url");
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const plain = pair.privateKey.export({ format: "der", type: "pkcs8" });
  await insertKey(tx, {
    kid,
    publicJwk: pair.publicKey.export({ format: "jwk" }),
    sealedPrivate: secrets.seal("signing-key", plain, Buffer.from(kid)),
    activeAt: plan.activeAt,
  });
  await retireOthers(tx, kid, plan.activeAt, plan.othersExpireAt);
  tx.audit({ action: "signing_key.created", targets: [{ type: "signing_key", id: kid }] });
}

async function readKeys(sources: SigningKeySources): Promise<readonly OpenKey[]> {
  const context: TxContext = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal };
  const rows = await sources.transactions.run(context, { kind: "platform" }, async (tx) => {
    const found = await liveKeys(tx);
    if (planRotation(found, tx.now).kind === "keep") return found;
    await rotate(tx, sources);
    return liveKeys(tx);
  });
  return rows.map((row) => openKey(sources.secrets, row));
}

function openKey(secrets: Secrets, row: SigningKeyRow): OpenKey {
  const der = secrets.unseal("signing-key", row.sealed_private, Buffer.from(row.kid));
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(privateKey);
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const jwk: PublicKey = { kty: "EC", crv: "P-256", x, y, kid: row.kid, alg: "ES256", use: "sig" };
  return { kid: row.kid, activeAt: row.active_at, expiresAt: row.expires_at, privateKey, publicKey, jwk };
}
