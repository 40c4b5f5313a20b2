/** How an upload fills packs and registers them. */

export interface UploadSettings {
  /** Size at which a pack is complete. */
  readonly packBytes: number;
  /** How many full packs may be in flight (counted in bytes), in addition to the pack that is being filled. */
  readonly packsInFlight: number;
  /** A unit is registered after this many stored bytes. */
  readonly unitBytes: number;
  /**
   * Bytes of packs that may be sent and not registered: an interrupted backup sends at most this much again. For targets that collect a pack before they
   * send it: a pack that must wait is whole but for its end.
   */
  readonly maxUnregisteredBytes: number | null;
  /**
   * A pack ends with so many bytes of block lists, however small it is. A million files of ten bytes are less than a pack, and their block lists are more than
   * a message may have (docs/decisions/0641).
   */
  readonly maxBlockListBytes: number;
  /** An offer waits for so many segments while more are being cut: for targets where a call costs much. */
  readonly segmentsPerOffer: number;
  /**
   * How much is asked before answers come, as a multiple of what hides the calls of a store on this machine: offers in flight, and buffers of the
   * workers. Each step costs memory (`workers/free-buffers.ts`).
   */
  readonly lookahead: number;
}

export const defaultUploadSettings: UploadSettings = {
  packBytes: 16 * 1024 * 1024,
  packsInFlight: 1,
  unitBytes: 64 * 1024 * 1024,
  maxUnregisteredBytes: null,
  maxBlockListBytes: 1024 * 1024,
  segmentsPerOffer: 1,
  lookahead: 1,
};

/** Size at which a metadata pack is complete. */
export const maxMetadataPackBytes = 4 * 1024 * 1024;

/** Bytes of a small backup that go into one pack together with their metadata: browsing it reads little that it does not need. */
export const maxOnePackBytes = 8 * 1024 * 1024;

/** New nodes that may wait to be registered: half a megabyte of a unit. A bound for backups of very many directories without files. */
export const maxPendingNodes = 8192;
