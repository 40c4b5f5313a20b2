/** Why an archive is refused. The texts of a problem are made from the code; the path names the entry. */

export type InvalidArchiveCode =
  /** A header whose checksum is wrong: the archive is damaged, or it is no tar at all. */
  | "not_a_header"
  /** The archive ends before its end mark. The program that wrote it was stopped. */
  | "no_end_mark"
  /** The archive ends inside an entry. */
  | "truncated"
  | "number_out_of_range"
  | "malformed_extended_header"
  | "malformed_sparse_map"
  /** More than an extended header, a name or a sparse map may have. */
  | "header_too_large"
  | "path_too_long"
  /** A path with `..`, or with a NUL byte. */
  | "unsafe_path"
  /** A file without a name. */
  | "empty_path"
  /** A file, a link and a directory, or two of them, at one path where only one can be. */
  | "path_is_no_directory"
  | "too_many_entries"
  /** A part of an archive in several volumes. */
  | "multi_volume"
  | "file_too_large"
  /** Damaged compression, or bytes after its end. */
  | "damaged_compression"
  /** The directory at the end of a zip is missing, is not where it should be, or is damaged. */
  | "not_a_zip"
  | "encrypted_entry"
  /** A method other than stored and deflate. */
  | "unsupported_compression"
  /** The local header or the descriptor of a zip entry says something else than the directory. */
  | "contradictory_entry"
  /** Two zip entries share bytes, or one reaches into the directory. */
  | "overlapping_entries"
  /** The content has more or fewer bytes than the archive says. */
  | "size_mismatch"
  /** The content has another CRC-32 than the archive says. */
  | "checksum_mismatch"
  /** A zip has two files at one path, and programs do not agree on which one counts. */
  | "duplicate_path";

export class InvalidArchiveError extends Error {
  readonly code: InvalidArchiveCode;
  /** The entry, as far as it is known. */
  readonly path: Uint8Array | null;
  /** How many entries came before it, as far as it is known. */
  entry: number | null = null;

  constructor(code: InvalidArchiveCode, path: Uint8Array | null = null, options?: ErrorOptions) {
    super(`invalid archive: ${code}`, options);
    this.name = "InvalidArchiveError";
    this.code = code;
    this.path = path;
  }
}
