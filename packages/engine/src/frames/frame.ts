/**
 * Frames: the sealed unit of storage. A frame's plain bytes (a directory and blocks, or metadata items) are compressed
 * together, then sealed with AES-256-GCM under a subkey of the session.
 *
 * - The *frame number* (session × 2^24 + n) is logical: a rewritten frame keeps the number of the frame it replaces and
 *   has a higher *generation*. Recipes name frame numbers, never places.
 * - The *sealing session* is the one whose key seals it: its header is in the pack.
 * - The *frame id* is the SHA-256 of the sealed bytes, header included, so scrubbing needs no key.
 *
 * Header, 40 bytes, little-endian, additional data of the seal together with the binding to the sealing session:
 *   magic "EMF1" · kind u8 · codec u8 · worker u16 · sealing session u32 · counter u32 · logical session u32 · n u32 ·
 *   generation u32 · plain length u32 · body length u32 · zero u32
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ByteReader, FormatError, release, sameBytes } from "../bytes.ts";
import { sha256 } from "../hash.ts";

const magic = Buffer.from("EMF1");
export const frameHeaderLength = 40;
const tagLength = 16;

/** Frames per session: 2^24 of at least a megabyte is more than a session can hold. */
export const framesPerSession = 2 ** 24;

/** A frame never holds more plain bytes than this: a reader must be able to hold a few. */
export const maxPlainBytes = 16 * 1024 * 1024;

/** Bytes compressed to see whether the rest is worth it; three samples spread over the frame. */
const probeSampleBytes = 8 * 1024;
const probeSamples = 3;

/** Above this ratio a frame is stored as it is: a twentieth saved is not worth the time of every restore. */
const worthwhileRatio = 0.95;

/** zstd's window covers the whole frame, so that solid compression sees all of it. */
const maxWindowLog = 23;
const minWindowLog = 14;

export type FrameKind = "data" | "meta";

/** The logical name of a frame and how it is to be sealed. */
export interface FrameSeal {
  readonly kind: FrameKind;
  readonly frame: number;
  readonly generation: number;
  readonly session: number;
  readonly worker: number;
  readonly counter: number;
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
}

/** A frame's header, read without any key. */
export interface FrameHeader {
  readonly kind: FrameKind;
  readonly codec: number;
  readonly worker: number;
  readonly session: number;
  readonly counter: number;
  readonly frame: number;
  readonly generation: number;
  readonly plainLength: number;
  readonly bodyLength: number;
}

/** Joins a session and a count to a frame number. */
export function frameNumber(session: number, n: number): number {
  if (n >= framesPerSession) throw new RangeError("too many frames in a session");
  return session * framesPerSession + n;
}

/** The session that a frame number belongs to. */
export function sessionOfFrame(frame: number): number {
  return Math.floor(frame / framesPerSession);
}

/** Compresses (where worthwhile) and seals one frame. `dense` skips the probe for bytes known to be incompressible. */
export function sealFrame(seal: FrameSeal, plain: Uint8Array, dense: boolean): Buffer {
  if (plain.length > maxPlainBytes) throw new RangeError("a frame is too large");
  const body = dense ? null : compress(plain);
  const header = writeHeader(seal, body === null ? 0 : 1, plain.length, body?.length ?? plain.length);
  const cipher = createCipheriv("aes-256-gcm", seal.key, nonceOf(seal.counter));
  cipher.setAAD(Buffer.concat([header, seal.binding]));
  const sealed = cipher.update(body ?? plain);
  cipher.final();
  // Memory of its own: what comes from Node's shared pool cannot be handed to another thread.
  const frame = Buffer.allocUnsafeSlow(frameHeaderLength + sealed.length + tagLength);
  frame.set(header);
  frame.set(sealed, frameHeaderLength);
  frame.set(cipher.getAuthTag(), frameHeaderLength + sealed.length);
  release(sealed);
  if (body !== null) release(body);
  return frame;
}

/** Reads the header of a sealed frame. */
export function readFrameHeader(sealed: Uint8Array): FrameHeader {
  const reader = new ByteReader(sealed);
  if (!sameBytes(reader.raw(4), magic)) throw new FormatError("not a frame");
  const kind = reader.u8();
  if (kind > 1) throw new FormatError("an unknown kind of frame");
  const codec = reader.u8();
  const worker = reader.u16();
  const session = reader.u32();
  const counter = reader.u32();
  const frame = frameNumber(reader.u32(), reader.u32());
  const generation = reader.u32();
  const plainLength = reader.u32();
  const bodyLength = reader.u32();
  if (reader.u32() !== 0 || codec > 1 || plainLength > maxPlainBytes) throw new FormatError("a frame header is wrong");
  if (codec === 0 && bodyLength !== plainLength) throw new FormatError("a frame header is wrong");
  return {
    kind: kind === 0 ? "data" : "meta",
    codec,
    worker,
    session,
    counter,
    frame,
    generation,
    plainLength,
    bodyLength,
  };
}

/** How long the sealed frame with this header is. */
export function sealedLength(header: FrameHeader): number {
  return frameHeaderLength + header.bodyLength + tagLength;
}

/** Opens a sealed frame. `key` is the worker's subkey of the sealing session, `binding` that session's binding. */
export function openFrame(sealed: Uint8Array, key: Uint8Array, binding: Uint8Array): Buffer {
  const header = readFrameHeader(sealed);
  if (sealed.length !== sealedLength(header)) throw new FormatError("a frame has the wrong length");
  const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(header.counter));
  decipher.setAAD(Buffer.concat([sealed.subarray(0, frameHeaderLength), binding]));
  decipher.setAuthTag(sealed.subarray(sealed.length - tagLength));
  try {
    const body = decipher.update(sealed.subarray(frameHeaderLength, sealed.length - tagLength));
    decipher.final();
    if (header.codec === 0) return body;
    const plain = decompress(body, header.plainLength);
    release(body);
    return plain;
  } catch (cause) {
    throw new FormatError("a frame does not open", { cause });
  }
}

/** The frame id: what scrubbing compares. */
export function frameIdOf(sealed: Uint8Array): Buffer {
  return sha256(sealed);
}

/** Whether a few samples of these bytes compress. */
export function looksCompressible(plain: Uint8Array): boolean {
  if (plain.length < probeSampleBytes) return true;
  const room = plain.length - probeSampleBytes;
  let packed = 0;
  for (let i = 0; i < probeSamples; i++) {
    const at = Math.floor((room * i) / Math.max(1, probeSamples - 1));
    packed += zstdCompressSync(plain.subarray(at, at + probeSampleBytes), probeOptions).length;
  }
  return packed < probeSampleBytes * probeSamples * worthwhileRatio;
}

const probeOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

function compress(plain: Uint8Array): Buffer | null {
  const packed = zstdCompressSync(plain, {
    // One output buffer that surely fits, so that all of it can be released after use.
    chunkSize: plain.length + 4096,
    params: {
      [constants.ZSTD_c_compressionLevel]: 1,
      [constants.ZSTD_c_windowLog]: Math.min(maxWindowLog, Math.max(minWindowLog, 32 - Math.clz32(plain.length))),
    },
  });
  if (packed.length < plain.length * worthwhileRatio) return packed;
  release(packed);
  return null;
}

function decompress(body: Uint8Array, plainLength: number): Buffer {
  const plain = zstdDecompressSync(body, {
    // More than the bytes need: a buffer that is filled to its end makes Node allocate another one, which nobody uses and
    // nobody releases, and V8 then collects garbage every few dozen frames.
    chunkSize: plainLength + 1024,
    maxOutputLength: Math.max(plainLength, 1),
  });
  if (plain.length !== plainLength) throw new FormatError("a frame unpacks to the wrong length");
  return plain;
}

function writeHeader(seal: FrameSeal, codec: number, plainLength: number, bodyLength: number): Buffer {
  const header = Buffer.alloc(frameHeaderLength);
  magic.copy(header);
  header.writeUInt8(seal.kind === "data" ? 0 : 1, 4);
  header.writeUInt8(codec, 5);
  header.writeUInt16LE(seal.worker, 6);
  header.writeUInt32LE(seal.session, 8);
  header.writeUInt32LE(seal.counter, 12);
  header.writeUInt32LE(sessionOfFrame(seal.frame), 16);
  header.writeUInt32LE(seal.frame % framesPerSession, 20);
  header.writeUInt32LE(seal.generation, 24);
  header.writeUInt32LE(plainLength, 28);
  header.writeUInt32LE(bodyLength, 32);
  return header;
}

function nonceOf(counter: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32LE(counter, 0);
  return nonce;
}
