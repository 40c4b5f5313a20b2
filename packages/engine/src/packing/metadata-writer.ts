/**
 * Collects metadata items into metadata frames and seals them. Nodes and records are kept apart: browsing reads nodes
 * only, rebuild reads everything. Sealed in the pipeline's own thread, as worker 0: metadata is a thousandth of the data.
 */

import { ByteWriter } from "../format/bytes.ts";
import type { Effort, FrameKind } from "../format/frame.ts";
import { frameNumber, sealFrame } from "../format/frame.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { writeMetadataItem } from "../format/metadata-items.ts";
import type { OpenSession } from "../format/session-header.ts";
import { sessionBinding, workerKey } from "../format/session-header.ts";

/** Plain bytes of a metadata frame: a few nodes, so that opening one folder reads little; records are read in bulk. */
const metadataFrameBytes = { nodes: 256 * 1024, records: 1024 * 1024 } as const;

export type MetadataKind = keyof typeof metadataFrameBytes;

export interface MetadataPlace {
  readonly frame: number;
  readonly slot: number;
}

interface OpenShelf {
  readonly frame: number;
  readonly writer: ByteWriter;
  items: number;
}

export class MetadataWriter {
  readonly #session: OpenSession;
  readonly #key: Uint8Array;
  readonly #binding: Uint8Array;
  readonly #nextN: () => number;
  readonly #sealed: (frame: number, bytes: Uint8Array) => void;
  readonly #open = new Map<MetadataKind, OpenShelf>();
  #counter = 0;

  constructor(session: OpenSession, nextN: () => number, sealed: (frame: number, bytes: Uint8Array) => void) {
    this.#session = session;
    this.#key = workerKey(session.contentKey, 0);
    this.#binding = sessionBinding(session.header);
    this.#nextN = nextN;
    this.#sealed = sealed;
  }

  add(shelf: MetadataKind, item: MetadataItem): MetadataPlace {
    let open = this.#open.get(shelf);
    if (open === undefined) {
      open = {
        frame: frameNumber(this.#session.header.session, this.#nextN()),
        writer: new ByteWriter(64 * 1024),
        items: 0,
      };
      this.#open.set(shelf, open);
    }
    writeMetadataItem(open.writer, item);
    const place = { frame: open.frame, slot: open.items++ };
    if (open.writer.length >= metadataFrameBytes[shelf]) this.flush(shelf);
    return place;
  }

  flush(shelf: MetadataKind): void {
    const open = this.#open.get(shelf);
    if (open === undefined) return;
    this.#open.delete(shelf);
    this.#sealed(open.frame, this.seal(open.frame, 0, open.writer.view(), "meta"));
    open.writer.free();
  }

  /** Seals any frame in this thread: relaying rewrites frames with this. */
  seal(frame: number, generation: number, plain: Uint8Array, kind: FrameKind, effort: Effort = "quick"): Uint8Array {
    const { session } = this.#session.header;
    const seal = {
      kind,
      frame,
      generation,
      session,
      worker: 0,
      counter: this.#counter++,
      key: this.#key,
      binding: this.#binding,
    };
    return sealFrame(seal, plain, effort);
  }
}
