/**
 * The keys of a projection. From one random key three are derived: for the keys of paths, for grams, and for sealing. Who has only
 * the database learns no name: equal names of two vaults or two sources look different.
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";

/** HMAC-SHA256 and AES-256. */
export const projectionKeyBytes = 32;
/** No two of 2^60 paths have the same. */
const pathKeyBytes = 16;
/** What GCM is defined for. */
const nonceBytes = 12;
const tagBytes = 16;

/** Grams whose hash is kept: names of one vault have a few thousand. */
const maxKnownGrams = 100_000;

export class PathKeys {
  readonly #forPaths: Buffer;
  readonly #forGrams: Buffer;
  readonly #forSealing: Buffer;
  readonly #grams = new Map<string, number>();

  constructor(key: Uint8Array) {
    const derived = (purpose: string) =>
      Buffer.from(hkdfSync("sha256", key, "", `emanet/paths/${purpose}/1`, projectionKeyBytes));
    this.#forPaths = derived("path");
    this.#forGrams = derived("gram");
    this.#forSealing = derived("seal");
  }

  /** By which a path of a source is found. */
  pathKey(sourceId: string, path: Uint8Array): Buffer {
    return hmac(this.#forPaths, `path ${sourceId} `, path).subarray(0, pathKeyBytes);
  }

  /** Shows whether the target of a link has changed. */
  targetHash(target: Uint8Array): Buffer {
    return hmac(this.#forPaths, "target ", target);
  }

  gram(text: string): number {
    const known = this.#grams.get(text);
    if (known !== undefined) return known;
    const hash = hmac(this.#forGrams, text).readInt32BE();
    if (this.#grams.size >= maxKnownGrams) this.#grams.clear();
    this.#grams.set(text, hash);
    return hash;
  }

  /** The key of a path depends on all of it, so no nonce is used for two paths. */
  seal(pathKey: Buffer, path: Uint8Array): Buffer {
    const cipher = createCipheriv("aes-256-gcm", this.#forSealing, pathKey.subarray(0, nonceBytes)).setAAD(pathKey);
    return Buffer.concat([cipher.update(path), cipher.final(), cipher.getAuthTag()]);
  }

  unseal(pathKey: Buffer, sealed: Buffer): Buffer {
    const end = sealed.length - tagBytes;
    const nonce = pathKey.subarray(0, nonceBytes);
    const decipher = createDecipheriv("aes-256-gcm", this.#forSealing, nonce, { authTagLength: tagBytes });
    decipher.setAAD(pathKey).setAuthTag(sealed.subarray(end));
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
  }
}

function hmac(key: Buffer, ...parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHmac("sha256", key);
  for (const part of parts) hash.update(part);
  return hash.digest();
}
