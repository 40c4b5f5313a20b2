/**
 * The recovery kit: what a customer keeps offline to read a vault without the service. It holds the decryption keys of all
 * epochs and the authority's public key. It never holds the signing seed, so a stolen kit can read and cannot forge a
 * manifest, lift a hold or register a writer.
 *
 *   kit   magic "EMANETR2" · vault (16) · u32 newest epoch · public key (1216) · authority's public key (32) ·
 *         bytes decryption part, sealed under the kit's key
 */

import type { EngineContext } from "../context.ts";
import { ByteReader, ByteWriter, FormatError, sameBytes } from "./bytes.ts";
import { signingPublicLength } from "./signing.ts";
import type { ReaderKeys } from "./vault-keys.ts";
import { decodeSecrets, encodeSecrets, openPart, partKey, sealPart, vaultIdLength } from "./vault-keys.ts";
import { xWingPublicLength } from "./x-wing.ts";

const magic = Buffer.from("EMANETR2");
const purpose = "recovery kit";

/** Seals the decryption keys under the kit's key (32 random bytes that the customer keeps). */
export function writeRecoveryKit(ctx: EngineContext, kitKey: Uint8Array, keys: ReaderKeys): Buffer {
  const out = new ByteWriter(2048).raw(magic).raw(keys.vaultId).u32(keys.epoch);
  out.raw(keys.publicKey).raw(keys.authorityPublicKey);
  const head = out.take();
  return out.bytes(sealPart(ctx, partKey(kitKey, purpose), head, encodeSecrets(keys))).take();
}

/** Opens a kit. Throws `FormatError` for damage and a wrong key. */
export function openRecoveryKit(kitKey: Uint8Array, kit: Uint8Array): ReaderKeys {
  const reader = new ByteReader(kit);
  if (!sameBytes(reader.raw(magic.length), magic)) throw new FormatError("not a recovery kit");
  const vaultId = Buffer.from(reader.raw(vaultIdLength));
  const epoch = reader.u32();
  const publicKey = Buffer.from(reader.raw(xWingPublicLength));
  const authorityPublicKey = Buffer.from(reader.raw(signingPublicLength));
  const head = kit.subarray(0, reader.at);
  const secrets = decodeSecrets(openPart(partKey(kitKey, purpose), head, reader.bytes()));
  reader.done();
  return { vaultId, epoch, publicKey, authorityPublicKey, ...secrets };
}
