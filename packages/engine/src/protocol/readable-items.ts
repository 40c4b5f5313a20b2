/** What a client may read: the items that a snapshot, or a part of it, reaches. */

import type { Bitmap } from "../format/bitmap.ts";
import type { Reference } from "../format/tree-entry.ts";
import type { ReadPort } from "../restore/read-port.ts";

export interface ReadableItems {
  readonly port: ReadPort;
  readonly root: Reference;
  readonly reach: Pick<Bitmap, "has">;
}
