/**
 * Keys derived from the root key, one per purpose, so that a cursor can never pass for a sealed answer. The root key is
 * kept in the database, wrapped by the master key (`root-key.ts`), so that the master key can be changed without
 * touching anything that was sealed. The master key comes from the environment or from `<data>/master.key`, made on
 * first start.
 *
 * A *seal* is AES-256-GCM with a random 96-bit nonce: `nonce ‖ tag ‖ ciphertext`. At 2³² seals per purpose the chance
 * of a repeated nonce is still below 2⁻³², far beyond what short-lived answers will ever count.
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Random } from "./clock.ts";
import { replaceFile } from "./durable-file.ts";
import { StartError } from "./start-error.ts";

/** AES-256 and HMAC-SHA256. */
const keyBytes = 32;
/** What GCM is defined for; any other length costs an extra hash and gains nothing. */
const nonceBytes = 12;
/** GCM's whole tag. */
const tagBytes = 16;

/** What a derived key is for. A new purpose is a new line, never a reused one. */
type Purpose =
  | "cursor"
  | "idempotency-reply"
  | "idempotency-caller"
  | "signing-key"
  | "receipt-key"
  | "audit-identity"
  | "audit-share"
  | "totp-secret"
  | "refresh-token"
  | "client-secret"
  | "device"
  | "attempts"
  | "recovery-code"
  | "otp-code"
  | "phone"
  | "link"
  | "download-link"
  | "invitation"
  | "job-payload"
  | "first-run"
  | "oauth"
  | "oauth-id"
  | "oauth-form"
  | "oauth-browser"
  | "oauth-successor"
  | "limit-key"
  | "page-form"
  | "vault-keys"
  | "path-keys"
  | "webhook-secret"
  | "account-record"
  | "erasure"
  | "store-beat";

export interface Secrets {
  /** HMAC-SHA256 under the key of that purpose. */
  digest(purpose: Purpose, data: string | Uint8Array): Buffer;
  /** Seals bytes; `context` must be the same when they are opened. */
  seal(purpose: Purpose, plain: Uint8Array, context: Uint8Array): Buffer;
  /** Opens sealed bytes, or throws: a changed byte, another context or another key is an error. */
  unseal(purpose: Purpose, sealed: Uint8Array, context: Uint8Array): Buffer;
}

export function createSecrets(rootKey: Uint8Array, random: Random): Secrets {
  if (rootKey.length !== keyBytes) throw new Error(`the root key must have ${keyBytes} bytes`);
  const keys = new Map<Purpose, Buffer>();
  const keyFor = (purpose: Purpose): Buffer => {
    const known = keys.get(purpose);
    if (known) return known;
    const derived = Buffer.from(hkdfSync("sha256", rootKey, "", `emanet/${purpose}/1`, keyBytes));
    keys.set(purpose, derived);
    return derived;
  };
  return {
    digest: (purpose, data) => createHmac("sha256", keyFor(purpose)).update(data).digest(),
    seal(purpose, plain, context) {
      const nonce = random.bytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", keyFor(purpose), nonce).setAAD(context);
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    unseal(purpose, sealed, context) {
      const nonce = sealed.subarray(0, nonceBytes);
      const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
      const decipher = createDecipheriv("aes-256-gcm", keyFor(purpose), nonce, { authTagLength: tagBytes });
      decipher.setAAD(context).setAuthTag(tag);
      return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
    },
  };
}

/**
 * Reads the master key's file, or makes it: 0600, whole and on disk before anything is sealed with it. Called by
 * the holder of the data folder's lock, so no other process makes one at the same time.
 */
export async function masterKeyFromFile(file: string, random: Random): Promise<Buffer> {
  try {
    return parseKey(file, await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const key = random.bytes(keyBytes);
  await replaceFile(file, `${key.toString("base64")}\n`, 0o600);
  return key;
}

/** Never replaced when it is damaged: what was sealed with the lost key could not be opened again. */
function parseKey(file: string, text: string): Buffer {
  const key = Buffer.from(text.trim(), "base64");
  if (key.length === keyBytes && key.toString("base64") === text.trim()) return key;
  throw new StartError(
    "folder_unusable",
    `${file} does not hold a key of ${keyBytes} bytes in base64. Restore it from a backup, or set EMANET_MASTER_KEY.`,
  );
}
