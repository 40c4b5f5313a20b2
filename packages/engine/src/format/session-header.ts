/**
 * Upload sessions. A writer draws one content key per session, encapsulates it to the vault's public key and signs the
 * session header. The key is in the writer's memory only: a resumed upload is a new session with a new key.
 *
 *   header   magic "EMANETS2" · vault (16) · u32 epoch · u32 session · u64 nonce · writer's registration (104) · u64 start ·
 *            encapsulation (1120) · commitment (32) · writer's signature (64)
 *
 * Every pack and every manifest repeats the header. It can be checked with the authority's public key: the authority
 * signed the registration, the registered writer signed the header. The commitment to the content key makes a changed
 * encapsulation an error instead of a wrong key.
 *
 * Each frame has its own key, derived from the content key and from what names the sealed frame. So a reader that gets the
 * key of one frame can open that frame only.
 */

import { hkdfSync, timingSafeEqual } from "node:crypto";
import type { EngineContext } from "../context.ts";
import { ByteReader, ByteWriter, FormatError, sameBytes } from "./bytes.ts";
import { deriveKey, sha256 } from "./hash.ts";
import { signatureLength, signerId, signingPublicLength, verifySignature } from "./signing.ts";
import type { ReaderKeys, WriterKeys } from "./vault-keys.ts";
import { vaultIdLength } from "./vault-keys.ts";
import type { Writer } from "./writer-registration.ts";
import { decodeRegistration, registrationLength } from "./writer-registration.ts";
import { xWingCiphertextLength, xWingDecapsulate, xWingEncapsulate } from "./x-wing.ts";

const magic = Buffer.from("EMANETS2");
export const commitmentLength = 32;

/** Session numbers are below this: a frame number is 2^24 times as large and must stay exact (2^53). */
export const maxSession = 2 ** 29;

/** Magic, vault, epoch, number, nonce, registration, time, encapsulation, commitment, signature. */
export const sessionHeaderLength =
  8 + vaultIdLength + 4 + 4 + 8 + registrationLength + 8 + xWingCiphertextLength + commitmentLength + signatureLength;

/** The public data of a session. */
export interface SessionHeader {
  readonly vaultId: Uint8Array;
  readonly epoch: number;
  /** Unique in the vault, issued by the catalog. Frame numbers start with it. */
  readonly session: number;
  /** Drawn with the number. A pack can be an orphan only for the catalog that issued both. */
  readonly nonce: number;
  readonly writerId: Uint8Array;
  readonly registration: Uint8Array;
  readonly startedAt: number;
  readonly encapsulation: Uint8Array;
  readonly commitment: Uint8Array;
  /** The header as stored, signature included. */
  readonly bytes: Uint8Array;
}

/** A session that can seal. */
export interface OpenSession {
  readonly header: SessionHeader;
  readonly contentKey: Uint8Array;
}

/** What names a sealed frame of a session: no two frames have the same. */
export interface SealedFrameName {
  readonly worker: number;
  /** Counts the frames that a worker seals, so no two frames of a session have the same name. */
  readonly counter: number;
  readonly frame: number;
  readonly generation: number;
}

/** Starts a session: draws the content key and signs the header. */
export function startSession(
  ctx: EngineContext,
  keys: WriterKeys,
  writer: Writer,
  place: { readonly session: number; readonly nonce: number },
): OpenSession {
  const { ciphertext, sharedSecret } = xWingEncapsulate(ctx, keys.publicKey);
  const contentKey = deriveKey(sharedSecret, "content key");
  const bytes = new ByteWriter(sessionHeaderLength)
    .raw(magic)
    .raw(keys.vaultId)
    .u32(keys.epoch)
    .u32(place.session)
    .u64(place.nonce)
    .raw(writer.registration)
    .u64(ctx.now())
    .raw(ciphertext)
    .raw(commitmentTo(contentKey));
  const signature = writer.sign("session", bytes.view());
  return { header: parseSessionHeader(bytes.raw(signature).take()), contentKey };
}

/** Reads a session header. It checks no signature: `verifySessionHeader` does. */
export function parseSessionHeader(bytes: Uint8Array): SessionHeader {
  const reader = new ByteReader(bytes);
  if (!sameBytes(reader.raw(magic.length), magic)) throw new FormatError("not a session header");
  const place = { vaultId: Buffer.from(reader.raw(vaultIdLength)), epoch: reader.u32(), session: reader.u32() };
  const nonce = reader.u64();
  const registration = Buffer.from(reader.raw(registrationLength));
  const header = {
    ...place,
    nonce,
    writerId: signerId(registration.subarray(0, signingPublicLength)),
    registration,
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

/** Throws `FormatError` unless a writer that the authority registered signed the header. Returns the writer's public key. */
export function verifySessionHeader(
  header: SessionHeader,
  vaultId: Uint8Array,
  authorityPublicKey: Uint8Array,
): Uint8Array {
  if (!sameBytes(header.vaultId, vaultId)) throw new FormatError("a session of another vault");
  const { publicKey } = decodeRegistration(header.registration, vaultId, authorityPublicKey);
  const end = sessionHeaderLength - signatureLength;
  if (!verifySignature(publicKey, "session", header.bytes.subarray(0, end), header.bytes.subarray(end)))
    throw new FormatError("a session header's signature is wrong");
  return publicKey;
}

/** The session's content key. Needs the private seed of the session's epoch. */
export function openContentKey({ privateSeeds }: Pick<ReaderKeys, "privateSeeds">, header: SessionHeader): Uint8Array {
  const seed = privateSeeds.get(header.epoch);
  if (seed === undefined) throw new FormatError(`the vault's keys have no epoch ${header.epoch}`);
  const contentKey = deriveKey(decapsulate(seed, header.encapsulation), "content key");
  if (!timingSafeEqual(commitmentTo(contentKey), header.commitment))
    throw new FormatError("the session key does not match its commitment");
  return contentKey;
}

/** X25519 refuses points of low order. Only a forged encapsulation has one. */
function decapsulate(seed: Uint8Array, encapsulation: Uint8Array): Uint8Array {
  try {
    return xWingDecapsulate(seed, encapsulation);
  } catch (cause) {
    throw new FormatError("the session key does not open", { cause });
  }
}

/** The key that opens one sealed frame and no other. */
export function frameKey(contentKey: Uint8Array, { worker, counter, frame, generation }: SealedFrameName): Buffer {
  const info = new ByteWriter(64).raw(frameKeyPurpose).u32(worker).u32(counter).u64(frame).u32(generation).take();
  return Buffer.from(hkdfSync("sha256", contentKey, Buffer.alloc(0), info, 32));
}

const frameKeyPurpose = Buffer.from("emanet v2 frame key\0");

/** The key by which one cutting worker recognises embedded texts during a session. */
export function textKey(contentKey: Uint8Array, worker: number): Buffer {
  return deriveKey(contentKey, `embedded texts of worker ${worker}`);
}

/** What the additional data of every frame of a session contains: the whole header, hashed. */
export function sessionBinding(header: SessionHeader): Buffer {
  return sha256(header.bytes);
}

function commitmentTo(contentKey: Uint8Array): Buffer {
  return deriveKey(contentKey, "commitment");
}
