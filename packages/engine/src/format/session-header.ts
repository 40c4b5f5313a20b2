/**
 * Sessions. A writer draws one content key per session, encapsulates it for the vault's public key and signs the session
 * header. The writer keeps the content key in memory only: a resumed backup is a new session with a new key.
 *
 * Each worker encrypts with another key, derived from the content key, and counts its nonces, so no two frames share a key and
 * a nonce. The header has a commitment to the content key: a changed encapsulation is an error, never wrong plain bytes.
 */

import { timingSafeEqual } from "node:crypto";
import type { EngineContext } from "../context.ts";
import { ByteReader, ByteWriter, FormatError, hex, sameBytes } from "./bytes.ts";
import { deriveKey, sha256 } from "./hash.ts";
import type { Signer } from "./signing.ts";
import { signatureLength, signerIdLength, verifySignature } from "./signing.ts";
import type { WriterKeys } from "./vault-keys.ts";
import { vaultIdLength } from "./vault-keys.ts";
import type { WriterRegistry } from "./writer-registration.ts";
import { xWingCiphertextLength, xWingDecapsulate, xWingEncapsulate } from "./x-wing.ts";

const magic = Buffer.from("EMANETS1");
export const commitmentLength = 32;

/** Numbers of sessions are below this: a frame number is 2^24 times as large and must stay exact (2^53). */
export const maxSession = 2 ** 29;

/** Magic, vault, epoch, number, nonce, writer, time, encapsulation, commitment, signature. */
export const sessionHeaderLength =
  8 + vaultIdLength + 4 + 4 + 8 + signerIdLength + 8 + xWingCiphertextLength + commitmentLength + signatureLength;

/** The public data of a session, which every pack of it contains. */
export interface SessionHeader {
  readonly vaultId: Uint8Array;
  readonly epoch: number;
  /** Unique in the vault, given by the catalog; frame numbers start with it. */
  readonly session: number;
  /** Drawn with the number. A catalog deletes a pack as an orphan only if it gave out number and nonce. */
  readonly nonce: number;
  readonly writerId: Uint8Array;
  readonly startedAt: number;
  readonly encapsulation: Uint8Array;
  readonly commitment: Uint8Array;
  /** The header as stored, signature included. */
  readonly bytes: Uint8Array;
}

/** A session with its content key: it can encrypt. */
export interface OpenSession {
  readonly header: SessionHeader;
  readonly contentKey: Uint8Array;
}

/** Starts a session: draws the content key and signs the header. */
export function startSession(
  ctx: EngineContext,
  keys: WriterKeys,
  writer: Signer,
  claim: { readonly session: number; readonly nonce: number },
): OpenSession {
  const { ciphertext, sharedSecret } = xWingEncapsulate(ctx, keys.publicKey);
  const contentKey = deriveKey(sharedSecret, "content key");
  const bytes = new ByteWriter(sessionHeaderLength)
    .raw(magic)
    .raw(keys.vaultId)
    .u32(keys.epoch)
    .u32(claim.session)
    .u64(claim.nonce)
    .raw(writer.id)
    .u64(ctx.now())
    .raw(ciphertext)
    .raw(commitTo(contentKey));
  const signature = writer.sign("session", bytes.view());
  const header = parseSessionHeader(bytes.raw(signature).take());
  return { header, contentKey };
}

/** Reads a session header. `verifySessionHeader` checks its signature. */
export function parseSessionHeader(bytes: Uint8Array): SessionHeader {
  const reader = new ByteReader(bytes);
  if (!sameBytes(reader.raw(8), magic)) throw new FormatError("not a session header");
  const header = {
    vaultId: Buffer.from(reader.raw(vaultIdLength)),
    epoch: reader.u32(),
    session: reader.u32(),
    nonce: reader.u64(),
    writerId: Buffer.from(reader.raw(signerIdLength)),
    startedAt: reader.u64(),
    encapsulation: Buffer.from(reader.raw(xWingCiphertextLength)),
    commitment: Buffer.from(reader.raw(commitmentLength)),
    bytes: Buffer.from(bytes),
  };
  reader.raw(signatureLength);
  reader.done();
  if (header.session >= maxSession) throw new FormatError("a session number is too large");
  return header;
}

/** Throws `FormatError` unless a registered writer of this vault signed the header. Returns the writer's public key. */
export function verifySessionHeader(header: SessionHeader, vaultId: Uint8Array, writers: WriterRegistry): Uint8Array {
  if (!sameBytes(header.vaultId, vaultId)) throw new FormatError("a session of another vault");
  const publicKey = writers.get(hex(header.writerId));
  if (publicKey === undefined) throw new FormatError("a session of a writer that is not registered");
  const signed = header.bytes.subarray(0, sessionHeaderLength - signatureLength);
  const signature = header.bytes.subarray(sessionHeaderLength - signatureLength);
  if (!verifySignature(publicKey, "session", signed, signature))
    throw new FormatError("a session header's signature is wrong");
  return publicKey;
}

/** Decapsulates the session's content key with the vault's private seed. */
export function openContentKey(privateSeed: Uint8Array, header: SessionHeader): Uint8Array {
  const contentKey = deriveKey(opened(privateSeed, header.encapsulation), "content key");
  if (!timingSafeEqual(commitTo(contentKey), header.commitment)) {
    throw new FormatError("the session key does not match its commitment");
  }
  return contentKey;
}

/** X25519 throws for points of low order. Only a forged encapsulation has one, so this is a `FormatError`. */
function opened(privateSeed: Uint8Array, encapsulation: Uint8Array): Uint8Array {
  try {
    return xWingDecapsulate(privateSeed, encapsulation);
  } catch (cause) {
    throw new FormatError("the session key does not open", { cause });
  }
}

/** The key with which one worker of a session encrypts. */
export function workerKey(contentKey: Uint8Array, worker: number): Buffer {
  return deriveKey(contentKey, `frame key of worker ${worker}`);
}

/** The hash of the session header, in the additional data of every frame: it binds the frame to the session. */
export function sessionBinding(header: SessionHeader): Buffer {
  return sha256(header.bytes);
}

function commitTo(contentKey: Uint8Array): Buffer {
  return deriveKey(contentKey, "commitment");
}
