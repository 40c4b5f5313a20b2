/**
 * Packs: the objects that hold frames. A pack is written once under a random name and never changed.
 *
 *   header   magic "EMANETP2" · u8 pack kind (0 data, 1 metadata) · pack id (16) · session header
 *   frames   sealed frames, one after the other without gaps
 *   footer   varint count; per frame: frame id (32) · varint length · u8 kind · varint logical session · varint n ·
 *            varint generation; then the writer's signature over SHA-256(header) and the footer
 *   trailer  u32 footer length, signature included · magic "EMANETPE"
 *
 * The signature covers the header and every frame id, a frame id covers the sealed bytes, and there are no gaps between
 * frames. So every changed byte of a pack is noticed. The pack id in the header must equal the object's name, so a pack that
 * was copied to another name, or from another vault, is refused.
 */

import { ByteReader, ByteWriter, FormatError, hex, sameBytes } from "./bytes.ts";
import { UnknownKindError } from "./fields.ts";
import type { FrameKind } from "./frame.ts";
import { frameIdOf, framesPerSession, sessionOfFrame, storedFrameNumber } from "./frame.ts";
import { idLength, sha256 } from "./hash.ts";
import type { SessionHeader } from "./session-header.ts";
import { parseSessionHeader, sessionHeaderLength, verifySessionHeader } from "./session-header.ts";
import type { Signer } from "./signing.ts";
import { signatureLength, verifySignature } from "./signing.ts";

export const packIdLength = 16;
const headMagic = Buffer.from("EMANETP2");
const tailMagic = Buffer.from("EMANETPE");
export const packHeaderLength = 8 + 1 + packIdLength + sessionHeaderLength;
export const packTrailerLength = 4 + 8;

/** A footer of this size describes 90 000 frames, many times those of the largest pack; a longer one is refused. */
const maxFooterBytes = 4 * 1024 * 1024;

/** A frame in the footer of its pack. */
export interface PackFrame {
  readonly frameId: Uint8Array;
  readonly offset: number;
  readonly length: number;
  readonly kind: FrameKind;
  readonly frame: number;
  readonly generation: number;
}

/** The header and the footer of a pack, decoded. */
export interface PackTable {
  readonly kind: PackKind;
  readonly packId: Uint8Array;
  readonly header: SessionHeader;
  readonly frames: readonly PackFrame[];
  readonly size: number;
}

/** What a pack is checked against. None of it is secret. */
export interface VaultIdentity {
  readonly vaultId: Uint8Array;
  readonly authorityPublicKey: Uint8Array;
}

/** A pack of data may hold metadata too: a small session writes one pack. Kind 2 is reserved for parity. */
export type PackKind = "data" | "metadata";

const packKindCodes = { data: 0, metadata: 1 } as const;

/**
 * Builds a pack. The caller writes `head`, then each frame that it has added, then the bytes that `finish` returns. The
 * builder keeps the offsets of the frames, not their bytes.
 */
export class PackBuilder {
  readonly packId: Uint8Array;
  /** The pack's first bytes. */
  readonly head: Uint8Array;
  readonly #headHash: Uint8Array;
  readonly #frames: PackFrame[] = [];
  #size = packHeaderLength;

  constructor(kind: PackKind, packId: Uint8Array, session: SessionHeader) {
    this.packId = packId;
    this.head = Buffer.concat([headMagic, Buffer.of(packKindCodes[kind]), packId, session.bytes]);
    this.#headHash = sha256(this.head);
  }

  get name(): string {
    return hex(this.packId);
  }

  get size(): number {
    return this.#size;
  }

  get frames(): readonly PackFrame[] {
    return this.#frames;
  }

  add(
    kind: FrameKind,
    frame: number,
    generation: number,
    sealed: Uint8Array,
    frameId: Uint8Array = frameIdOf(sealed),
  ): void {
    this.#frames.push({ frameId, offset: this.#size, length: sealed.length, kind, frame, generation });
    this.#size += sealed.length;
  }

  /** Signs the footer and returns the pack's last bytes. */
  finish(writer: Signer): Uint8Array {
    const footer = encodeFooter(this.#frames);
    const signature = writer.sign("pack", signedPart(this.#headHash, footer));
    const tail = new ByteWriter(footer.length + 128).raw(footer).raw(signature);
    const end = tail
      .u32(footer.length + signatureLength)
      .raw(tailMagic)
      .take();
    this.#size += end.length;
    return end;
  }
}

/** Reads a range of a pack. */
export type RangeReader = (offset: number, length: number) => Promise<Uint8Array>;

/** Reads and verifies header and footer of a pack of `size` bytes. Throws `FormatError` if a check fails. */
export async function readPackTable(
  name: string,
  size: number,
  read: RangeReader,
  identity: VaultIdentity,
): Promise<PackTable> {
  if (size < packHeaderLength + packTrailerLength) throw new FormatError("a pack is too short");
  const trailer = new ByteReader(await read(size - packTrailerLength, packTrailerLength));
  const footerLength = trailer.u32();
  if (!sameBytes(trailer.raw(8), tailMagic)) throw new FormatError("a pack's end is missing");
  const footerAt = size - packTrailerLength - footerLength;
  if (footerLength > maxFooterBytes || footerLength <= signatureLength || footerAt < packHeaderLength) {
    throw new FormatError("a pack's footer is out of bounds");
  }
  const head = await read(0, packHeaderLength);
  const tail = await read(footerAt, footerLength);
  const footer = tail.subarray(0, footerLength - signatureLength);
  const { kind, packId, header, writerKey } = checkHeader(head, name, identity);
  const signature = tail.subarray(footerLength - signatureLength);
  if (!verifySignature(writerKey, "pack", signedPart(sha256(head), footer), signature)) {
    throw new FormatError("a pack's signature is wrong");
  }
  return { kind, packId, header, frames: decodeFooter(footer, footerAt), size };
}

/** The session header in the first bytes of a pack. No signature is checked here. */
export function sessionOfPack(head: Uint8Array): SessionHeader {
  return parseSessionHeader(head.subarray(packHeaderLength - sessionHeaderLength, packHeaderLength));
}

function checkHeader(head: Uint8Array, name: string, identity: VaultIdentity) {
  const reader = new ByteReader(head);
  if (!sameBytes(reader.raw(8), headMagic)) throw new FormatError("not a pack");
  const code = reader.u8();
  if (code > packKindCodes.metadata) throw new UnknownKindError("pack", code);
  const kind: PackKind = code === packKindCodes.data ? "data" : "metadata";
  const packId = Buffer.from(reader.raw(packIdLength));
  if (hex(packId) !== name) throw new FormatError("a pack has the id of another pack");
  const header = parseSessionHeader(reader.raw(sessionHeaderLength));
  const writerKey = verifySessionHeader(header, identity.vaultId, identity.authorityPublicKey);
  return { kind, packId, header, writerKey };
}

function encodeFooter(frames: readonly PackFrame[]): Buffer {
  const writer = new ByteWriter(64 + frames.length * 48).varint(frames.length);
  for (const { frameId, length, kind, frame, generation } of frames) {
    writer
      .raw(frameId)
      .varint(length)
      .u8(kind === "data" ? 0 : 1);
    writer
      .varint(sessionOfFrame(frame))
      .varint(frame % framesPerSession)
      .varint(generation);
  }
  return writer.take();
}

function decodeFooter(footer: Uint8Array, framesEnd: number): PackFrame[] {
  const reader = new ByteReader(footer);
  const count = reader.varint();
  const frames: PackFrame[] = [];
  let offset = packHeaderLength;
  for (let i = 0; i < count; i++) {
    const frameId = Buffer.from(reader.raw(idLength));
    const length = reader.varint();
    const code = reader.u8();
    if (code > 1) throw new UnknownKindError("frame", code);
    const kind: FrameKind = code === 0 ? "data" : "meta";
    const frame = storedFrameNumber(reader.varint(), reader.varint());
    frames.push({ frameId, offset, length, kind, frame, generation: reader.varint() });
    offset += length;
  }
  reader.done();
  if (offset !== framesEnd) throw new FormatError("a pack's frames leave a gap");
  return frames;
}

function signedPart(headHash: Uint8Array, footer: Uint8Array): Buffer {
  return Buffer.concat([headHash, footer]);
}
