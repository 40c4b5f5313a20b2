/** What the API shows of the entries of a snapshot. Names are bytes: those that are not UTF-8 are shown in base64 too. */

import { isUtf8 } from "node:buffer";
import type { TreeEntry } from "@emanet/engine";
import { closed, nullable, oneOf, type Static, Type, text, timestamp } from "../kernel/http/schema.ts";
import { byteCount } from "./shapes.ts";

/** The contract's; what a path can have in JSON. */
export const maxPathBytes = 4096;
/** Four characters for three bytes. */
const maxBase64Length = Math.ceil(maxPathBytes / 3) * 4;

/** Link targets and the paths of warnings may be longer than a path. */
const maxTextBytes = 64 * 1024;

const permissionBits = 0o7777;
const octalDigits = 4;

/** A path in the query, whose bytes are `call.queryBytes`. */
export function queryPath(description: string) {
  const bytes = "Any bytes, percent-encoded, as in the paths of files.";
  return Type.Optional(text(maxPathBytes, { description: `${description} ${bytes}`, examples: ["2026/fatura.xml"] }));
}

/** A path in a JSON body: text, or its bytes where they are no text. */
export function bodyPath(description: string) {
  const bytes = closed({
    base64: Type.String({
      ...{ minLength: 4, maxLength: maxBase64Length, pattern: "^[A-Za-z0-9+/]+={0,2}$", examples: ["Zpj/"] },
      description: "The bytes of the path, for one that is not UTF-8.",
    }),
  });
  return Type.Union([text(maxPathBytes, { examples: ["2026/fatura.xml"] }), bytes], { description });
}

export function bytesOfPath(path: Static<ReturnType<typeof bodyPath>>): Buffer {
  return typeof path === "string" ? Buffer.from(path) : Buffer.from(path.base64, "base64");
}

function bytesText(maxLength: number, description: string, example: string) {
  // Any text: names may have every character.
  return Type.String({ maxLength, pattern: "^[\\s\\S]*$", description, examples: [example] });
}

function base64(maxLength: number, of: string) {
  return Type.Optional(
    Type.String({
      maxLength,
      pattern: "^[A-Za-z0-9+/]*={0,2}$",
      description: `The bytes of \`${of}\`, only where they are not UTF-8.`,
      examples: ["Zpj/"],
    }),
  );
}

const hash = nullable(
  Type.String({
    ...{
      minLength: 64,
      maxLength: 64,
      pattern: "^[0-9a-f]{64}$",
      examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    },
    description: "Opaque; equal hashes of one vault mean equal content. Null for links.",
  }),
);

/** Where an entry is. */
export const pathFields = {
  name: bytesText(maxPathBytes, "Last part of the path.", "fatura.xml"),
  name_base64: base64(maxBase64Length, "name"),
  path: bytesText(maxPathBytes, "Path in the snapshot.", "2026/fatura.xml"),
  path_base64: base64(maxBase64Length, "path"),
};

/** What an entry is. */
export const entryFields = {
  type: oneOf(["file", "directory", "link"], "What it is."),
  size_bytes: nullable(byteCount("Bytes of a file, or of all files below a directory; null for links.")),
  mtime: timestamp("When it was changed last."),
  mode: Type.String({
    ...{ minLength: 4, maxLength: 4, pattern: "^[0-7]{4}$", examples: ["0644"] },
    description: "Permissions, octal.",
  }),
  hash,
};

export const treeEntry = closed(
  {
    ...pathFields,
    ...entryFields,
    sha256: Type.Optional(
      Type.String({
        ...{
          minLength: 64,
          maxLength: 64,
          pattern: "^[0-9a-f]{64}$",
          examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
        },
        description: "SHA-256 of the content, where it was computed.",
      }),
    ),
    link_target: nullable(bytesText(maxTextBytes, "Where a link leads.", "../fatura.xml")),
    link_target_base64: base64(maxTextBytes * 2, "link_target"),
  },
  { title: "TreeEntry" },
);

export const warningShape = closed(
  {
    path: bytesText(maxTextBytes, "Path of the file.", "kilitli.mdf"),
    path_base64: base64(maxTextBytes * 2, "path"),
    code: Type.String({
      ...{ minLength: 1, maxLength: 64, pattern: "^[ -~]+$", examples: ["special_file"] },
      description:
        "Why: a system error code, `changed`, `special_file`, `link_target_missing`, `trailing_bytes`, `unlisted_bytes`, `name_twin` …",
    }),
  },
  { title: "SnapshotWarning" },
);

export function showEntry(entry: TreeEntry, path: Buffer): Static<typeof treeEntry> {
  const isFile = entry.type === "file";
  return {
    ...textFields("name", entry.name),
    ...textFields("path", path),
    ...showFields({ ...entry, size: entry.type === "link" ? null : entry.size, hash: hashOf(entry) }),
    ...(isFile && entry.sha256 !== undefined && { sha256: hex(entry.sha256) }),
    ...(entry.type === "link" ? textFields("link_target", entry.target) : { link_target: null }),
  };
}

/** What {@link entryFields} says. */
export function showFields(
  facts: Moment & {
    readonly type: TreeEntry["type"];
    readonly size: number | null;
    readonly mode: number;
    readonly hash: Uint8Array | null;
  },
) {
  return {
    type: facts.type,
    size_bytes: facts.size,
    mtime: momentText(facts),
    mode: (facts.mode & permissionBits).toString(8).padStart(octalDigits, "0"),
    hash: facts.hash === null ? null : hex(facts.hash),
  };
}

export function showWarning({ path, code }: { readonly path: Uint8Array; readonly code: string }) {
  return { ...textFields("path", path), code };
}

/** A field with text, and one with the bytes where they are not UTF-8. */
export function textFields<Name extends string>(name: Name, bytes: Uint8Array) {
  const text = Buffer.from(bytes).toString();
  const encoded = isUtf8(bytes) ? {} : { [`${name}_base64`]: Buffer.from(bytes).toString("base64") };
  return { [name]: text, ...encoded } as { readonly [Key in Name]: string } & {
    readonly [Key in `${Name}_base64`]?: string;
  };
}

function hashOf(entry: TreeEntry): Uint8Array | null {
  if (entry.type === "link") return null;
  return entry.type === "file" ? entry.hash : entry.root.id;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** What ISO 8601 can say with four digits of a year. */
const firstSecond = Date.parse("0000-01-01T00:00:00Z") / 1000;
const lastSecond = Date.parse("9999-12-31T23:59:59Z") / 1000;

interface Moment {
  readonly mtimeSeconds: number;
  readonly mtimeNanos: number;
}

/** With nanoseconds where there are any. Times that ISO 8601 cannot say are moved to the nearest that it can. */
function momentText({ mtimeSeconds, mtimeNanos }: Moment): string {
  const seconds = Math.min(Math.max(mtimeSeconds, firstSecond), lastSecond);
  const text = new Date(seconds * 1000).toISOString().replace(/\.000Z$/, "");
  return mtimeNanos === 0 ? `${text}Z` : `${text}.${String(mtimeNanos).padStart(9, "0")}Z`;
}
