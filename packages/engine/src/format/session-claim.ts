/**
 * Session claims: one small object per session number. It is put only where there is none and kept for ever, so a number is
 * used once (catalog/claim-session.ts).
 *
 *   claim    magic "EMANETN2" · vault (16) · u32 session · u64 nonce
 *
 * Claims are not signed: a claim only says that a number is used. Anyone who can write to the store can add one and so make a
 * catalog stale. That costs a rebuild and loses nothing.
 */

import { ByteReader, ByteWriter, FormatError, sameBytes } from "./bytes.ts";
import { vaultIdLength } from "./vault-keys.ts";

const magic = Buffer.from("EMANETN2");

export interface SessionClaim {
  readonly session: number;
  /** Drawn with the number. Another catalog that issues the same number has another nonce. */
  readonly nonce: number;
}

export function encodeClaim(vaultId: Uint8Array, { session, nonce }: SessionClaim): Buffer {
  return new ByteWriter().raw(magic).raw(vaultId).u32(session).u64(nonce).take();
}

/** Reads the nonce of a claim. Throws `FormatError` unless it is this session's claim in this vault. */
export function decodeClaim(bytes: Uint8Array, vaultId: Uint8Array, session: number): number {
  const reader = new ByteReader(bytes);
  if (!sameBytes(reader.raw(8), magic)) throw new FormatError("not a session claim");
  if (!sameBytes(reader.raw(vaultIdLength), vaultId)) throw new FormatError("a claim of another vault");
  if (reader.u32() !== session) throw new FormatError("a claim of another session");
  const nonce = reader.u64();
  reader.done();
  return nonce;
}
