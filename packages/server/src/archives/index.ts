/**
 * Archives: reads what clients send as one tar or zip archive or one file, and holds it in the spool until it is backed up;
 * writes tar and zip archives. Owns no table.
 *
 * Invariants: an archive is hostile input, and whatever is not understood is refused with its entry; no path leaves the
 * snapshot; memory does not grow with the archive; a refused or aborted archive leaves nothing in the spool; the spool
 * never takes more than its limits.
 */

export { type ArchiveEncoding, archiveEncodings } from "./decompress.ts";
export { type InvalidArchiveCode, InvalidArchiveError } from "./invalid-archive.ts";
export { filePath, type ReceivedFile, type ReceiveFileOptions, receiveFile } from "./receive-file.ts";
export { receiveTar } from "./receive-tar.ts";
export { type Inflater, type ReceiveZipOptions, receiveZip } from "./receive-zip.ts";
export {
  type ArchiveEvent,
  ArchiveTooLargeError,
  maxFileBytes,
  type ReceivedArchive,
  type ReceiveOptions,
} from "./received-archive.ts";
export { Spool, type SpoolFile, SpoolFullError, type SpoolLimits } from "./spool.ts";
export { type TarMember, tarBytesOf, tarEnd, tarHeaderOf, tarLayoutVersion, tarPaddingOf } from "./tar-writer.ts";
export { escapedName, needsEscape } from "./zip-names.ts";
export {
  type ZipContent,
  type ZipMember,
  type ZipSource,
  zipEndOf,
  zipHeaderOf,
  zipLayoutVersion,
  zipOf,
  zipRecordOf,
} from "./zip-writer.ts";
