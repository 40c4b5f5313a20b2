/**
 * The four formats of an export. Each has one line per record, an opening line before them and a closing line after them.
 * `docs/AUDIT.md` describes them, and verifiers are written from that page: a change here is a change of the page.
 *
 * Texts that people wrote are only inside JSON. In CSV no cell begins like a formula, also where a program divides lines at semicolons.
 */

export const exportFormats = ["ndjson", "csv", "cef", "json"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** A record as an export has it: parts that are JSON are texts. */
export interface ExportedRecord {
  readonly seq: number;
  readonly id: string;
  readonly occurredAt: Date;
  readonly action: string;
  readonly outcome: string;
  readonly actor: string;
  readonly targets: string;
  readonly context: string;
  readonly metadata: string;
  readonly prevHash: string;
  readonly hash: string;
  readonly person: string | null;
  /** Parts of it are hidden, so that its hash cannot be computed. */
  readonly isMasked: boolean;
}

/** What the first line says. */
export interface Opening {
  readonly format: string;
  readonly export_id: string;
  readonly chain: string;
  readonly from: string | null;
  readonly to: string | null;
  /** `all` records of the part, or those that a share shows. */
  readonly selection: "all" | "filtered";
  readonly masked: boolean;
  /** Of an export by a share: what the share and the request ask for. */
  readonly filters?: readonly object[];
  readonly first_seq: number;
  readonly last_seq: number;
  /** The checkpoint of the record before the first one. */
  readonly checkpoint: string;
}

/** What the last line says. */
export interface Closing {
  readonly records: number;
  /** The checkpoint of the last record. */
  readonly checkpoint: string;
  /** Signed: what this export has, with the SHA-256 of all bytes before this line. */
  readonly statement: string;
}

/**
 * Writes the lines of one export. Each line but the last has a *check* behind its text: a part of a hash over this text and all before
 * it, so that a verifier names the first line that was changed. The methods return the text before the check.
 */
export interface LineWriter {
  /** Before the first line, where the format has a header. */
  readonly header: string;
  opening(opening: Opening): string;
  record(record: ExportedRecord): string;
  checkpoint(jws: string): string;
  /** What follows a check, to the end of the line; of the opening where it differs. */
  readonly lineEnd: string;
  readonly openingEnd?: string;
  /** The whole last line. */
  closing(closing: Closing): string;
}

interface FormatSpec {
  readonly mediaType: string;
  readonly writer: (chain: string) => LineWriter;
}

export const formatVersion = "emanet-audit/1";

export const formats: Readonly<Record<ExportFormat, FormatSpec>> = {
  ndjson: { mediaType: "application/x-ndjson", writer: ndjson },
  csv: { mediaType: "text/csv; charset=utf-8", writer: csv },
  cef: { mediaType: "text/plain; charset=utf-8", writer: cef },
  json: { mediaType: "application/json; charset=utf-8", writer: json },
};

/** All names and texts that are put in directly are made of letters, digits and `._:-`. */
function recordObject(chain: string, record: ExportedRecord): string {
  const { seq, id, action, actor, targets, context, outcome, metadata, prevHash, hash, person, isMasked } = record;
  const shown = `${person === null ? "null" : JSON.stringify(person)}${isMasked ? ',"masked":true' : ""}`;
  return `{"kind":"record","seq":${seq},"id":"${id}","occurred_at":"${record.occurredAt.toISOString()}","action":${JSON.stringify(action)},"actor":${actor},"targets":${targets},"context":${context},"outcome":"${outcome}","metadata":${metadata},"chain":"${chain}","prev_hash":"${prevHash}","hash":"${hash}","person":${shown},"check":"`;
}

/** The object without its last bracket, with the name of the check. */
function checkedObject(content: object): string {
  return `${JSON.stringify(content).slice(0, -1)},"check":"`;
}

function ndjson(chain: string): LineWriter {
  return {
    header: "",
    opening: (opening) => checkedObject({ kind: "opening", ...opening }),
    record: (record) => recordObject(chain, record),
    checkpoint: (jws) => checkedObject({ kind: "checkpoint", jws }),
    lineEnd: '"}\n',
    closing: (closing) => `${JSON.stringify({ kind: "closing", ...closing })}\n`,
  };
}

/** One JSON document. Every line of the list but its first begins with its comma, so that a program can read it line by line. */
function json(chain: string): LineWriter {
  let comma = "";
  const item = (text: string) => {
    const line = `${comma}${text}`;
    comma = ",";
    return line;
  };
  return {
    header: "",
    opening: (opening) => `{"opening":${checkedObject({ kind: "opening", ...opening })}`,
    openingEnd: '"},"records":[\n',
    record: (record) => item(recordObject(chain, record)),
    checkpoint: (jws) => item(checkedObject({ kind: "checkpoint", jws })),
    lineEnd: '"}\n',
    closing: (closing) => `],"closing":${JSON.stringify({ kind: "closing", ...closing })}}\n`,
  };
}

export const csvColumns = [
  ...["kind", "seq", "id", "occurred_at", "action", "outcome", "person", "actor", "targets", "context", "metadata"],
  ...["chain", "prev_hash", "hash", "masked", "note", "check"],
] as const;

/** RFC 4180. Lines of the opening, of checkpoints and of the closing have their content in `note`. */
function csv(chain: string): LineWriter {
  const noted = (kind: string, note: string) => `${kind}${",".repeat(csvColumns.length - 2)}${note},`;
  return {
    header: `${csvColumns.join(",")}\r\n`,
    opening: (opening) => noted("opening", jsonCell(JSON.stringify(opening))),
    record(record) {
      const { seq, id, occurredAt, action, outcome, person, actor, targets, context, metadata } = record;
      const parts = `${jsonCell(actor)},${jsonCell(targets)},${jsonCell(context)},${jsonCell(metadata)}`;
      const name = person === null ? "" : jsonCell(JSON.stringify(person));
      return `record,${seq},${id},${occurredAt.toISOString()},${plainCell(action)},${outcome},${name},${parts},${chain},${record.prevHash},${record.hash},${record.isMasked ? "true" : ""},,`;
    },
    checkpoint: (jws) => noted("checkpoint", jws),
    lineEnd: "\r\n",
    closing: (closing) => `${noted("closing", jsonCell(JSON.stringify(closing)))}\r\n`,
  };
}

/** JSON begins with a bracket or a quote, never like a formula. A semicolon would begin a new cell in some countries. */
function jsonCell(text: string): string {
  return `"${text.replaceAll('"', '""').replaceAll(";", "\\u003b")}"`;
}

/** What could begin a formula, and what could end a cell. Actions are words of the code, and have neither. */
function plainCell(text: string): string {
  if (!/^[a-z0-9_.]+$/.test(text)) throw new Error("a cell has a character that it must not have");
  return text;
}

/** The Common Event Format, revision 25. Severities are those of its scale from 0 to 10. */
function cef(chain: string): LineWriter {
  const line = (id: string, name: string, severity: number, extension: string) =>
    `CEF:0|Emanet|Emanet|1|${headerText(id)}|${headerText(name)}|${severity}|${extension}`;
  const noted = (kind: string, name: string, note: string) =>
    line(`emanet.${kind}`, name, 0, `msg=${extensionText(note)}`);
  const checked = (text: string) => `${text} emanetCheck=`;
  return {
    header: "",
    opening: (opening) => checked(noted("opening", "Opening of the export", JSON.stringify(opening))),
    record(record) {
      const { seq, id, occurredAt, action, outcome, person, actor, targets, context, metadata } = record;
      const labeled = [record.prevHash, record.hash, actor, targets, context, metadata]
        .map((text, at) => `cs${at + 1}Label=${cefLabels[at]} cs${at + 1}=${extensionText(text)}`)
        .join(" ");
      const name = person === null ? "" : ` suser=${extensionText(JSON.stringify(person))}`;
      const masked = record.isMasked ? " reason=masked" : "";
      const extension = `rt=${occurredAt.getTime()} externalId=${id} outcome=${outcome} deviceExternalId=${chain} cn1Label=seq cn1=${seq} ${labeled}${name}${masked}`;
      return checked(line(action, action, outcome === "failure" ? failureSeverity : usualSeverity, extension));
    },
    checkpoint: (jws) => checked(noted("checkpoint", "Checkpoint", jws)),
    lineEnd: "\n",
    closing: (closing) => `${noted("closing", "Closing of the export", JSON.stringify(closing))}\n`,
  };
}

const cefLabels = ["prev_hash", "hash", "actor", "targets", "context", "metadata"];
const usualSeverity = 3;
const failureSeverity = 6;

/** Of the fields before the extension. */
function headerText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("\r", " ").replaceAll("\n", " ");
}

/** JSON has no line breaks of its own, so only two characters are left. */
function extensionText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("=", "\\=").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
}
