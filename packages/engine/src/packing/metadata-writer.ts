/**
 * Writes metadata items to metadata frames and seals these. Tree nodes and records (recipes, block lists) go to
 * different frames: browsing reads nodes only, a rebuild of the catalog reads everything. Metadata is a thousandth of the
 * data, so the main thread seals it.
 */

import { ByteWriter } from "../format/bytes.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { writeMetadataItem } from "../format/metadata-items.ts";
import type { FrameSealer } from "./frame-sealer.ts";

/**
 * Plain bytes at which a metadata frame is full. Node frames are small, so that opening one folder reads little. Records
 * are read in bulk.
 */
const metadataFrameBytes = { nodes: 256 * 1024, records: 1024 * 1024 } as const;

export type MetadataKind = keyof typeof metadataFrameBytes;

export interface MetadataPlace {
  readonly frame: number;
  readonly slot: number;
}

interface OpenMetadataFrame {
  readonly frame: number;
  readonly writer: ByteWriter;
  items: number;
}

export class MetadataWriter {
  readonly #sealer: FrameSealer;
  readonly #nextFrame: () => number;
  readonly #onSealed: (frame: number, bytes: Uint8Array) => void;
  readonly #open = new Map<MetadataKind, OpenMetadataFrame>();

  /** `nextFrame` returns the number of a new frame, `onSealed` is called with each sealed one. */
  constructor(sealer: FrameSealer, nextFrame: () => number, onSealed: (frame: number, bytes: Uint8Array) => void) {
    this.#sealer = sealer;
    this.#nextFrame = nextFrame;
    this.#onSealed = onSealed;
  }

  add(kind: MetadataKind, item: MetadataItem): MetadataPlace {
    let open = this.#open.get(kind);
    if (open === undefined) {
      open = { frame: this.#nextFrame(), writer: new ByteWriter(64 * 1024), items: 0 };
      this.#open.set(kind, open);
    }
    writeMetadataItem(open.writer, item);
    const place = { frame: open.frame, slot: open.items++ };
    if (open.writer.length >= metadataFrameBytes[kind]) this.flush(kind);
    return place;
  }

  /** Seals the open frame of a kind, if there is one. */
  flush(kind: MetadataKind): void {
    const open = this.#open.get(kind);
    if (open === undefined) return;
    this.#open.delete(kind);
    this.#onSealed(open.frame, this.#sealer.seal("meta", open.frame, 0, open.writer.view(), "fast"));
    open.writer.free();
  }
}
