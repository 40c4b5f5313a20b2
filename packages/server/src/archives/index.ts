/**
 * Archives: reads what clients send as one tar archive, and holds it in the spool until it is backed up. Owns no table.
 *
 * Invariants: an archive is hostile input, and whatever is not understood is refused with its entry; no path leaves the
 * snapshot; memory does not grow with the archive; a refused or aborted archive leaves nothing in the spool; the spool
 * never takes more than its limits.
 */

export { type ArchiveEncoding, archiveEncodings } from "./decompress.ts";
export { type InvalidArchiveCode, InvalidArchiveError } from "./invalid-archive.ts";
export {
  type ArchiveEvent,
  ArchiveTooLargeError,
  maxFileBytes,
  type ReceivedArchive,
  type ReceiveOptions,
  receiveTar,
} from "./receive-tar.ts";
export { Spool, SpoolFullError, type SpoolLimits } from "./spool.ts";
