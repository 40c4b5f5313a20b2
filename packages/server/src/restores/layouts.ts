/**
 * How entries of a tree become bytes of an archive whose checksums are known. An archive is its *members* (header, content, padding), then
 * its *directory* (a record per member; none in a tar), then its *end*. The bytes follow from the tree, from what the parts of
 * the restore say, and from the layout's version. They must never change for a restore that can still be downloaded: a client joins
 * ranges of days. So a change of a layout is a new version, and the old one stays for as long as such restores live.
 */

import { crc32 } from "node:zlib";
import type { FileEntry } from "@emanet/engine";
import { tarEnd, tarHeaderOf, tarPaddingOf, zipEndOf, zipHeaderOf, zipRecordOf } from "../archives/index.ts";
import {
  type ArchiveFormat,
  tarMemberOf,
  type WalkedEntry,
  type WriteName,
  ZipNames,
  zipCommentOf,
  zipMemberOf,
} from "../snapshots/index.ts";

export const layoutVersion = 1;

/** What the tree does not say of an entry. */
export interface EntryFacts {
  /** Of a file's content; 0 while it is not known, which changes no length. */
  readonly checksum: number;
  /** An earlier name of the same file, which is in the archive. */
  readonly firstName: Buffer | null;
}

export interface ArchiveMember {
  readonly header: Buffer;
  readonly content: FileEntry | Uint8Array | null;
  readonly contentBytes: number;
  readonly padding: Buffer;
  /** Its record in the directory, by the place of the member in the archive. */
  readonly recordAt: (offset: number) => Buffer;
}

export interface ArchiveTotals {
  readonly memberCount: number;
  readonly memberBytes: number;
  readonly directoryBytes: number;
  readonly escapedNames: number;
}

export interface Layout {
  /** Whether later names of a file are links to its first. */
  readonly hasHardLinks: boolean;
  /** Whether a file's checksum is in the archive. */
  readonly hasChecksums: boolean;
  /** Null for an entry that an archive of this kind does not have. */
  memberOf(entry: WalkedEntry, facts: EntryFacts): ArchiveMember | null;
  endOf(totals: ArchiveTotals): Buffer;
}

const nothing = Buffer.alloc(0);

const tar: Layout = {
  hasHardLinks: true,
  hasChecksums: false,
  memberOf(entry, { firstName }) {
    const planned = tarMemberOf(entry, firstName);
    if (planned === null) return null;
    const { member, content } = planned;
    return {
      ...{ header: tarHeaderOf(member), content, contentBytes: member.size, padding: tarPaddingOf(member.size) },
      recordAt: () => nothing,
    };
  },
  endOf: () => tarEnd,
};

/** Stored, with the checksum in front: readers of every kind find the end of the content. */
const zip: Layout = {
  hasHardLinks: false,
  hasChecksums: true,
  memberOf(entry, { checksum }) {
    const planned = zipMemberOf(entry);
    if (planned === null) return null;
    const { content } = planned;
    const member = { ...planned.member, isStored: true } as const;
    const crc = content instanceof Uint8Array ? crc32(content) : checksum;
    return {
      ...{ header: zipHeaderOf(member, crc), content, contentBytes: member.size, padding: nothing },
      recordAt: (offset) => zipRecordOf(member, crc, offset),
    };
  },
  endOf: ({ memberCount, memberBytes, directoryBytes, escapedNames }) =>
    zipEndOf({
      ...{ count: memberCount, directoryOffset: memberBytes, directoryBytes },
      comment: zipCommentOf(escapedNames),
    }),
};

const layouts = { tar, zip } as const satisfies Record<ArchiveFormat, Layout>;

/** The layout of a restore. A version that this release does not have is a fault of ours. */
export function layoutOf(format: ArchiveFormat, version: number = layoutVersion): Layout {
  if (version !== layoutVersion) throw new Error(`layout ${version} is not known`);
  return layouts[format];
}

/** The names of an archive, and how many of them were escaped so far. */
export interface ArchiveNames {
  readonly writeName: WriteName;
  readonly escaped: number;
}

export function namesOf(format: ArchiveFormat): ArchiveNames {
  return format === "zip" ? new ZipNames() : { writeName: (name) => name, escaped: 0 };
}
