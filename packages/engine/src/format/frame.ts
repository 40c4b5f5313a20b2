/**
 * Frames: the unit of compression and encryption. The plain bytes of a frame (blocks and their block list, or metadata
 * items) are compressed together, then *sealed*: encrypted with AES-256-GCM under a key that is for
 * this frame alone (`frameKey`). The nonce is zero, because a key encrypts one frame.
 *
 * - The *frame number* (logical session × 2^24 + n): a rewritten frame keeps the number of the frame that it replaces and
 *   has a higher *generation*. Recipes contain frame numbers, never packs or offsets.
 * - The *sealing session* is the session whose key encrypts it. Its header is in the pack.
 * - The *frame id* is the SHA-256 of the sealed bytes with their header, so scrub needs no key.
 *
 * Header, 40 bytes, little-endian, additional data of the seal together with the binding to the sealing session:
 *   magic "EMF2" · kind u8 · codec u8 · worker u16 · sealing session u32 · counter u32 · logical session u32 · n u32 ·
 *   generation u32 · plain length u32 · body length u32 · zero u32
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ByteReader, FormatError, release, sameBytes } from "./bytes.ts";
import { UnknownKindError } from "./fields.ts";
import { sha256 } from "./hash.ts";
import { frameKey, maxSession } from "./session-header.ts";

const magic = Buffer.from("EMF2");
export const frameHeaderLength = 40;
const tagLength = 16;

/** Every frame has its own key, which seals nothing else. */
const zeroNonce = Buffer.alloc(12);

/** The most frames of a session: 2^24 frames are more than a session can hold. */
export const framesPerSession = 2 ** 24;

/** The most plain bytes of a frame: a reader must be able to keep a few frames in memory. */
export const maxPlainBytes = 16 * 1024 * 1024;

/**
 * A cipher allocates two buffers per call. For a whole frame these are megabytes that the system must map, clear and unmap.
 * Below malloc's limit for mapped memory (128 KiB) the same memory is used again each time.
 */
const sealStepBytes = 96 * 1024;

/** Compressed bytes per plain byte. A frame with a larger ratio is stored uncompressed: a gain below 5 % is not worth it. */
const worthwhileRatio = 0.95;

/** zstd's window covers a whole frame of text, so that solid compression sees all of it. */
const maxWindowLog = 23;
const minWindowLog = 14;

/**
 * A frame may be longer than its window by this ratio. The block list follows the blocks of a full frame, and the next
 * larger window would take twice the memory.
 */
const windowSlack = 1 / 16;

/**
 * Frames of up to a megabyte hold database pages, which are similar to the pages next to them. With a window below 2^19 zstd's
 * fastest search saves a seventh of its time (no mispredicted branch). A larger hash table finds more than the smaller
 * window loses (docs/decisions/0118).
 */
const pageFrameBytes = 1024 * 1024;
const pageWindowLog = 18;
const pageHashLog = 15;

/**
 * How hard zstd tries to compress a frame. `none`: the bytes are known to be incompressible. `medium` and `high` are for
 * changed pages, which are few and are kept for years: `medium` is 4 % smaller and 20 % slower than `fast`, `high` is
 * 11 % smaller at a sixth of the speed (docs/decisions/0123).
 */
export type CompressionLevel = "none" | "fast" | "medium" | "high";

const { ZSTD_c_compressionLevel, ZSTD_c_windowLog, ZSTD_c_hashLog, ZSTD_c_chainLog } = constants;
const { ZSTD_c_searchLog, ZSTD_c_minMatch, ZSTD_c_strategy, ZSTD_dfast, ZSTD_lazy } = constants;

const fastPages = { [ZSTD_c_compressionLevel]: 1, [ZSTD_c_windowLog]: pageWindowLog, [ZSTD_c_hashLog]: pageHashLog };

const mediumPages = {
  [ZSTD_c_windowLog]: pageWindowLog,
  [ZSTD_c_hashLog]: 16,
  [ZSTD_c_chainLog]: 15,
  [ZSTD_c_minMatch]: 5,
  [ZSTD_c_strategy]: ZSTD_dfast,
};

const highPages = {
  [ZSTD_c_windowLog]: pageWindowLog,
  [ZSTD_c_hashLog]: 16,
  [ZSTD_c_chainLog]: 16,
  [ZSTD_c_searchLog]: 3,
  [ZSTD_c_minMatch]: 5,
  [ZSTD_c_strategy]: ZSTD_lazy,
};

const pageParams = { fast: fastPages, medium: mediumPages, high: highPages } as const;

export type FrameKind = "data" | "meta";

/** The number and generation of a frame, and the key and counter that seal it. */
export interface FrameSeal {
  readonly kind: FrameKind;
  readonly frame: number;
  readonly generation: number;
  readonly session: number;
  readonly worker: number;
  readonly counter: number;
  readonly contentKey: Uint8Array;
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

/** The frame number: `n` counts the frames of the session. */
export function frameNumber(session: number, n: number): number {
  if (n >= framesPerSession) throw new RangeError("too many frames in a session");
  return session * framesPerSession + n;
}

/** The frame number in a stored object. Throws `FormatError` if a session cannot have it. */
export function storedFrameNumber(session: number, n: number): number {
  if (session >= maxSession || n >= framesPerSession) throw new FormatError("a frame number is out of range");
  return frameNumber(session, n);
}

/** The logical session of a frame number. A rewritten frame keeps the number of its first session. */
export function sessionOfFrame(frame: number): number {
  return Math.floor(frame / framesPerSession);
}

/** Returns memory for a sealed frame of this length. */
export type AllocateFrame = (length: number) => Uint8Array;

/** Compresses (where worthwhile) and seals one frame, into the memory that `allocate` returns. */
export function sealFrame(
  seal: FrameSeal,
  plain: Uint8Array,
  level: CompressionLevel,
  allocate: AllocateFrame = ownMemory,
): Uint8Array {
  if (plain.length > maxPlainBytes) throw new RangeError("a frame is too large");
  const compressed = level === "none" ? null : compress(plain, level);
  const body = compressed ?? plain;
  const header = writeHeader(seal, compressed === null ? 0 : 1, plain.length, body.length);
  const cipher = createCipheriv("aes-256-gcm", frameKey(seal.contentKey, seal), zeroNonce);
  cipher.setAAD(Buffer.concat([header, seal.binding]));
  const frame = allocate(frameHeaderLength + body.length + tagLength);
  frame.set(header);
  for (let at = 0; at < body.length; at += sealStepBytes) {
    const sealed = cipher.update(body.subarray(at, at + sealStepBytes));
    frame.set(sealed, frameHeaderLength + at);
    release(sealed);
  }
  cipher.final();
  frame.set(cipher.getAuthTag(), frameHeaderLength + body.length);
  if (compressed !== null) release(compressed);
  return frame;
}

/** Not from Node's buffer pool: a shared page cannot be transferred to another thread. */
function ownMemory(length: number): Uint8Array {
  return Buffer.allocUnsafeSlow(length);
}

/** Reads the header of a sealed frame. */
export function readFrameHeader(sealed: Uint8Array): FrameHeader {
  const reader = new ByteReader(sealed);
  if (!sameBytes(reader.raw(4), magic)) throw new FormatError("not a frame");
  const kind = reader.u8();
  if (kind > 1) throw new UnknownKindError("frame", kind);
  const codec = reader.u8();
  const worker = reader.u16();
  const session = reader.u32();
  const counter = reader.u32();
  const frame = storedFrameNumber(reader.u32(), reader.u32());
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

/** The length of the sealed frame with this header. */
export function sealedLength(header: FrameHeader): number {
  return frameHeaderLength + header.bodyLength + tagLength;
}

/** Decrypts a sealed frame. `key` is the frame's own key (`frameKey`), `binding` that of the sealing session. */
export function openFrame(sealed: Uint8Array, key: Uint8Array, binding: Uint8Array): Buffer {
  const header = readFrameHeader(sealed);
  if (sealed.length !== sealedLength(header)) throw new FormatError("a frame has the wrong length");
  const decipher = createDecipheriv("aes-256-gcm", key, zeroNonce);
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
    throw new FormatError("a frame does not decrypt", { cause });
  }
}

/** The frame id, which scrub compares. */
export function frameIdOf(sealed: Uint8Array): Buffer {
  return sha256(sealed);
}

function compress(plain: Uint8Array, level: Exclude<CompressionLevel, "none">): Buffer | null {
  const compressed = zstdCompressSync(plain, {
    // With a buffer for the worst case zstd reads and writes in place. With a smaller one it copies everything.
    chunkSize: compressBound(plain.length),
    params: compressionOf(plain.length, level),
  });
  if (compressed.length < plain.length * worthwhileRatio) return compressed;
  release(compressed);
  return null;
}

/** The longest result of zstd for so many bytes (ZSTD_compressBound), rounded up. */
export function compressBound(length: number): number {
  return length + Math.ceil(length / 256) + 1024;
}

/** The zstd parameters for a frame of so many bytes. */
export function compressionOf(
  length: number,
  level: Exclude<CompressionLevel, "none"> = "fast",
): Record<number, number> {
  const covering = windowLogOf(length);
  const isPages = length <= pageFrameBytes * (1 + windowSlack);
  if (isPages && covering > pageWindowLog) return pageParams[level];
  if (isPages && level !== "fast") return { ...pageParams[level], [ZSTD_c_windowLog]: covering };
  return { [ZSTD_c_compressionLevel]: 1, [ZSTD_c_windowLog]: covering };
}

/** The window that covers a frame of so many bytes. */
export function windowLogOf(length: number): number {
  const below = 31 - Math.clz32(Math.max(length, 1));
  const log = length <= 2 ** below * (1 + windowSlack) ? below : below + 1;
  return Math.min(maxWindowLog, Math.max(minWindowLog, log));
}

function decompress(body: Uint8Array, plainLength: number): Buffer {
  const plain = zstdDecompressSync(body, {
    // Longer than the result: if the buffer gets full, Node allocates another one that is neither used nor released, and
    // V8 collects garbage every few dozen frames.
    chunkSize: plainLength + 1024,
    maxOutputLength: Math.max(plainLength, 1),
  });
  if (plain.length !== plainLength) throw new FormatError("a frame decompresses to the wrong length");
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
