/** The part of the engine that reads trees and files of a snapshot; apart for the same reason as `backup.ts`. */

export { diffTrees, type TreeChange } from "../format/tree-diff.ts";
export type { DirectoryEntry, FileEntry, LinkEntry, Reference, TreeEntry } from "../format/tree-entry.ts";
export { entriesOf, findEntry } from "../format/tree-reader.ts";
export { FileReader } from "../restore/file-reader.ts";
export { DamageError, FrameReader } from "../restore/frame-reader.ts";
export type { ReadPort } from "../restore/read-port.ts";
export { rootEntry } from "../restore/root-entry.ts";
