#!/usr/bin/env node
// Checks an export of the audit trail without the service: node verify-audit.mjs FILE --keys KEYS.json [--earlier FILE]… [--whole FILE]
// FILE is an export in any of the four formats, also compressed by gzip. KEYS.json is /.well-known/emanet-keys.json of the
// service, best from a copy of one's own. --earlier names an earlier export, or any file with checkpoints, to compare with.
// --whole names an export without masks, to compare the masked records of FILE with.
// Exit: 0 good, 1 bad, 2 it could not be checked. docs/AUDIT.md describes the formats. Needs Node 20 or newer, and nothing else.

import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { createReadStream, readFileSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createGunzip } from "node:zlib";

const formatVersion = "emanet-audit/1";
const genesis = "0".repeat(64);
const checkLength = 16;
/** Longer than any line of an export; a file without line breaks is not read into memory. */
const maxLineBytes = 16 * 1024 * 1024;

/** What is wrong, and with what: `record 5`, `opening`, `closing`. */
export class Bad extends Error {
  constructor(place, finding) {
    super(`${place}: ${finding}`);
    this.place = place;
  }
}

/** Checks a stream of bytes. Throws {@link Bad}; returns what the export has. */
export async function verifyExport(chunks, keys, earlier = new Map(), { whole = null, seen = null } = {}) {
  const state = {
    keys,
    earlier,
    whole,
    seen,
    format: null,
    opening: null,
    records: 0,
    masked: 0,
    seq: 0,
    hash: null,
    check: "",
  };
  const digest = createHash("sha256");
  let closing = null;
  for await (const { bytes, isWhole } of linesOf(chunks, () => placeAfter(state))) {
    if (closing !== null) throw new Bad("closing", "there is something after the closing line");
    if (!isWhole) throw new Bad(placeAfter(state), "the file ends in the middle of a line");
    const text = decode(bytes, placeAfter(state));
    state.format ??= detectFormat(text);
    const line = readLine(state, text);
    if (line.kind === "closing") closing = line;
    else digest.update(bytes);
    step(state, line);
  }
  if (closing === null)
    throw new Bad(placeAfter(state), "the file ends without a closing line; what follows is missing");
  checkClosing(state, closing, digest.digest("hex"));
  return summaryOf(state);
}

function summaryOf({ opening, records, masked, compared, format }) {
  const { chain, first_seq: first, last_seq: last, selection } = opening;
  return { chain, first, last, records, masked, selection, format: format.name, compared: compared ?? 0 };
}

/** Where the first thing that is missing would be. */
function placeAfter({ opening, seq }) {
  return opening === null ? "opening" : `record ${seq + 1}`;
}

// --- lines

async function* linesOf(chunks, place) {
  let rest = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      rest.push(chunk.subarray(start, end + 1));
      yield { bytes: rest.length === 1 ? rest[0] : Buffer.concat(rest), isWhole: true };
      rest = [];
      size = 0;
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > maxLineBytes) throw new Bad(place(), "the line is too long");
  }
  if (rest.length > 0) yield { bytes: Buffer.concat(rest), isWhole: false };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes, place) {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Bad(place, "the line is not UTF-8");
  }
}

// --- formats: each turns a line into an object, and says where its check is

const csvHeader =
  "kind,seq,id,occurred_at,action,outcome,person,actor,targets,context,metadata,chain,prev_hash,hash,masked,note,check\r\n";

const checkedJson = /^(.*,"check":")([0-9a-f]{16})"\}\n$/s;

const formats = [
  {
    name: "ndjson",
    begins: (text) => text.startsWith('{"kind":"opening",'),
    parse: (text) => JSON.parse(text),
    check: () => checkedJson,
  },
  {
    name: "json",
    begins: (text) => text.startsWith('{"opening":{'),
    parse: parseJsonLine,
    check: (kind) => (kind === "opening" ? /^(.*,"check":")([0-9a-f]{16})"\},"records":\[\n$/s : checkedJson),
  },
  {
    name: "csv",
    begins: (text) => text === csvHeader,
    parse: parseCsvLine,
    check: () => /^(.*,)([0-9a-f]{16})\r\n$/s,
  },
  {
    name: "cef",
    begins: (text) => text.startsWith("CEF:0|"),
    parse: parseCefLine,
    check: () => /^(.* emanetCheck=)([0-9a-f]{16})\n$/s,
  },
];

function detectFormat(text) {
  const found = formats.find(({ begins }) => begins(text));
  if (found === undefined) throw new Bad("opening", "the file does not begin like an export");
  return found;
}

function readLine(state, text) {
  if (text === csvHeader && state.opening === null && !state.hasHeader) {
    state.hasHeader = true;
    return { kind: "header" };
  }
  let line;
  try {
    line = state.format.parse(text, state);
  } catch {
    throw new Bad(placeAfter(state), "the line cannot be read");
  }
  if (typeof line !== "object" || line === null) throw new Bad(placeAfter(state), "the line is no object");
  return { ...line, text };
}

function parseJsonLine(text, state) {
  if (text.startsWith('{"opening":')) return JSON.parse(text.replace(/,"records":\[\n$/, "}")).opening;
  if (text.startsWith('],"closing":')) return JSON.parse(`{${text.slice(2)}`).closing;
  const isFirst = state.lines === 1;
  if (text.startsWith(",") === isFirst) throw new Error("a comma is missing, or too many");
  return JSON.parse(isFirst ? text : text.slice(1));
}

function parseCsvLine(text) {
  const cells = [];
  const cell = /"((?:[^"]|"")*)"(?=,|\r\n$)|([^",\r\n]*)(?=,|\r\n$)/y;
  for (let at = 0; ; at += 1) {
    cell.lastIndex = at;
    const match = cell.exec(text);
    if (match === null) throw new Error("no cell");
    cells.push(match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'));
    at = cell.lastIndex;
    if (text.slice(at) === "\r\n") break;
  }
  const names = csvHeader.trimEnd().split(",");
  if (cells.length !== names.length) throw new Error("the number of cells");
  const row = Object.fromEntries(names.map((name, index) => [name, cells[index]]));
  if (row.kind === "checkpoint") return { kind: row.kind, jws: row.note };
  if (row.kind !== "record") return { ...JSON.parse(row.note), kind: row.kind };
  return {
    ...row,
    seq: Number(row.seq),
    person: row.person === "" ? null : JSON.parse(row.person),
    ...Object.fromEntries(["actor", "targets", "context", "metadata"].map((name) => [name, JSON.parse(row[name])])),
    masked: row.masked === "true",
  };
}

function parseCefLine(text) {
  const [, id, extension] = /^CEF:0\|Emanet\|Emanet\|1\|((?:[^|\\]|\\.)*)\|(?:[^|\\]|\\.)*\|\d+\|(.*)\n$/s.exec(text);
  const fields = {};
  for (const [, name, value] of extension.matchAll(/(?:^| )(\w+)=((?:[^\\=]|\\.)*)(?= \w+=|$)/gs)) {
    fields[name] = value.replaceAll(/\\(.)/gs, (_all, one) => (one === "n" ? "\n" : one === "r" ? "\r" : one));
  }
  if (id === "emanet.checkpoint") return { kind: "checkpoint", jws: fields.msg };
  if (id.startsWith("emanet.")) return { ...JSON.parse(fields.msg), kind: id.slice("emanet.".length) };
  return {
    kind: "record",
    seq: Number(fields.cn1),
    id: fields.externalId,
    occurred_at: new Date(Number(fields.rt)).toISOString(),
    action: id,
    outcome: fields.outcome,
    chain: fields.deviceExternalId,
    prev_hash: fields.cs1,
    hash: fields.cs2,
    actor: JSON.parse(fields.cs3),
    targets: JSON.parse(fields.cs4),
    context: JSON.parse(fields.cs5),
    metadata: JSON.parse(fields.cs6),
    masked: fields.reason === "masked",
  };
}

// --- the chain

function step(state, line) {
  if (line.kind === "header" || line.kind === "closing") return;
  if (state.opening === null && line.kind !== "opening") throw new Bad("opening", "the opening line is missing");
  if (line.kind === "opening") checkOpening(state, line);
  else if (line.kind === "record") checkRecord(state, line);
  else if (line.kind === "checkpoint") checkBetween(state, line);
  else throw new Bad(placeAfter(state), "a line of an unknown kind");
  checkLine(state, line);
  state.lines = (state.lines ?? 0) + 1;
}

/** Finds the first line that was changed where no hash says so: a name, a space, a checkpoint that was taken out. */
function checkLine(state, { kind, text, seq }) {
  const match = state.format.check(kind).exec(text);
  const place =
    kind === "record" ? `record ${seq}` : kind === "opening" ? kind : `checkpoint after record ${state.seq}`;
  if (match === null) throw new Bad(place, "the check at the end of the line is missing");
  state.check = sha256(state.check + match[1]);
  if (state.check.slice(0, checkLength) === match[2]) return;
  throw new Bad(place, "the line was changed, or lines before it were taken out or put in");
}

function checkOpening(state, opening) {
  if (state.opening !== null) throw new Bad(placeAfter(state), "a second opening line");
  if (opening.format !== formatVersion) throw new Bad("opening", "the export has another version");
  const { chain, first_seq: first, last_seq: last } = opening;
  const isPart = Number.isSafeInteger(first) && Number.isSafeInteger(last) && first >= 1 && last >= first - 1;
  if (!isPart || typeof chain !== "string") throw new Bad("opening", "the opening line is not whole");
  if (opening.selection !== "all" && opening.selection !== "filtered") throw new Bad("opening", "an unknown selection");
  const { hash } = checkpointOf(state, opening.checkpoint, { chain, seq: first - 1 }, "opening");
  if (first === 1 && hash !== genesis) throw new Bad("opening", "the checkpoint is not the beginning of a chain");
  Object.assign(state, { opening, seq: first - 1, hash });
  compareEarlier(state);
}

function checkRecord(state, record) {
  const { opening } = state;
  const { seq } = record;
  const isAll = opening.selection === "all";
  const place = isAll || !Number.isSafeInteger(seq) ? `record ${state.seq + 1}` : `record ${seq}`;
  if (!Number.isSafeInteger(seq)) throw new Bad(place, "it has no number");
  if (record.chain !== opening.chain) throw new Bad(place, "it belongs to another chain");
  if (isAll && seq > state.seq + 1)
    throw new Bad(`record ${state.seq + 1}`, `it is missing; record ${seq} is in its place`);
  if (seq <= state.seq) throw new Bad(`record ${state.seq + 1}`, `record ${seq} is in its place`);
  if (seq > opening.last_seq) throw new Bad(place, "it is after the last record that the opening names");
  if (isAll && record.prev_hash !== state.hash)
    throw new Bad(place, "its prev_hash is not the hash of the record before it");
  if (record.masked === true && opening.masked !== true) throw new Bad(place, "it is masked in an export that is not");
  if (record.masked !== true && hashOf(record, place) !== record.hash)
    throw new Bad(place, "its hash is not that of its content");
  state.seen?.set(`${record.chain} ${seq}`, shownParts(record));
  if (state.whole !== null) compareWhole(state.whole, record, place);
  Object.assign(state, { seq, hash: record.hash, records: state.records + 1 });
  if (record.masked === true) state.masked += 1;
  if (isAll) compareEarlier(state);
}

/** What no mask changes. */
function shownParts({ id, occurred_at, action, outcome, prev_hash, hash }) {
  return JSON.stringify([id, occurred_at, action, outcome, prev_hash, hash]);
}

function compareWhole(whole, record, place) {
  const known = whole.get(`${record.chain} ${record.seq}`);
  if (known === undefined) throw new Bad(place, "the whole export does not have it");
  if (known !== shownParts(record)) throw new Bad(place, "the whole export has another record in its place");
}

/** The records of an export that is good and masks nothing, to compare others with. */
export async function readWhole(chunks, keys) {
  const seen = new Map();
  const { masked } = await verifyExport(chunks, keys, new Map(), { seen });
  if (masked > 0) throw new Bad("whole export", "it has masked records");
  return seen;
}

function checkBetween(state, { jws }) {
  const place = `checkpoint after record ${state.seq}`;
  const { chain, seq, hash } = signed(state.keys, jws, "emanet-audit-checkpoint+jws", place);
  const next = `record ${state.seq + 1}`;
  if (chain !== state.opening.chain) throw new Bad(next, "a checkpoint of another chain is in its place");
  if (seq !== state.seq) throw new Bad(next, `the checkpoint of record ${seq} is in its place`);
  if (hash !== state.hash)
    throw new Bad(`record ${state.seq}`, "a checkpoint has another hash: the chain was rewritten");
}

function compareEarlier(state) {
  const known = state.earlier.get(`${state.opening.chain} ${state.seq}`);
  if (known === undefined) return;
  state.compared = (state.compared ?? 0) + 1;
  if (known === state.hash) return;
  throw new Bad(
    `record ${state.seq}`,
    "an earlier checkpoint has another hash: this record or one before it was rewritten",
  );
}

function checkClosing(state, closing, digest) {
  const { opening, records, seq } = state;
  const { chain, first_seq, last_seq, export_id, selection, masked } = opening;
  const isAll = selection === "all";
  if (isAll && seq !== last_seq) throw new Bad(`record ${seq + 1}`, "it is missing; the closing line is in its place");
  const { hash } = checkpointOf(state, closing.checkpoint, { chain, seq: last_seq }, "closing");
  if (isAll && hash !== state.hash) throw new Bad("closing", "its checkpoint has another hash than the last record");
  const statement = signed(state.keys, closing.statement, "emanet-audit-export+jws", "closing");
  const said = { chain, first_seq, last_seq, export_id, selection, masked, records, format: state.format.name };
  for (const [name, value] of Object.entries(said)) {
    if (statement[name] !== value) throw new Bad("closing", `the signed statement has another ${name}`);
  }
  if (closing.records !== records) throw new Bad("closing", "it has another number of records");
  if (statement.content_sha256 !== digest)
    throw new Bad("closing", "the bytes of the file are not those that were signed");
  if (closing.text !== closingText(state.format.name, closing))
    throw new Bad("closing", "the closing line was changed");
}

function closingText(format, { records, checkpoint, statement }) {
  const content = { records, checkpoint, statement };
  const object = JSON.stringify({ kind: "closing", ...content });
  if (format === "ndjson") return `${object}\n`;
  if (format === "json") return `],"closing":${object}}\n`;
  const note = JSON.stringify(content);
  if (format === "cef") {
    const escaped = note.replaceAll("\\", "\\\\").replaceAll("=", "\\=");
    return `CEF:0|Emanet|Emanet|1|emanet.closing|Closing of the export|0|msg=${escaped}\n`;
  }
  return `closing${",".repeat(15)}"${note.replaceAll('"', '""')}",\r\n`;
}

// --- hashes and signatures

function hashOf({ prev_hash, chain, seq, id, occurred_at, action, actor, targets, context, outcome, metadata }, place) {
  if (!/^[0-9a-f]{64}$/.test(prev_hash)) throw new Bad(place, "it has no prev_hash");
  const record = { chain, seq, id, occurred_at, action, actor, targets, context, outcome, metadata };
  const text = canonical(record);
  return createHash("sha256").update(Buffer.from(prev_hash, "hex")).update(text).digest("hex");
}

/** RFC 8785. JavaScript writes numbers and texts as it demands, and sorts names by UTF-16 code units. */
function canonical(value) {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

function checkpointOf({ keys }, jws, { chain, seq }, place) {
  const payload = signed(keys, jws, "emanet-audit-checkpoint+jws", place);
  if (payload.chain !== chain) throw new Bad(place, "its checkpoint belongs to another chain");
  if (payload.seq !== seq) throw new Bad(place, `its checkpoint is about record ${payload.seq}, not ${seq}`);
  return payload;
}

/** The payload of a compact JWS with a right signature. */
function signed(keys, jws, type, place) {
  const parts = typeof jws === "string" ? jws.split(".") : [];
  const [header, payload, signature] = parts.map((part) => Buffer.from(part, "base64url"));
  // A text that decodes to the same bytes is not the same text.
  const isExact =
    parts.length === 3 && parts.every((part, at) => [header, payload, signature][at].toString("base64url") === part);
  if (!isExact) throw new Bad(place, "a signature is no compact JWS");
  const { alg, kid, typ } = parseObject(header, place);
  if (alg !== "EdDSA" || typ !== type) throw new Bad(place, "a signature is of another kind");
  const key = keys.get(kid);
  if (key === undefined) throw new Bad(place, "it is signed by a key that KEYS.json does not have");
  const isRight = verifySignature(null, Buffer.from(`${parts[0]}.${parts[1]}`), key, signature);
  if (!isRight) throw new Bad(place, "a signature is wrong");
  return parseObject(payload, place);
}

function parseObject(bytes, place) {
  try {
    return Object(JSON.parse(bytes.toString()));
  } catch {
    throw new Bad(place, "a signature has no JSON");
  }
}

/** The keys by their names. Each but the oldest must be introduced by the one before it. */
export function readKeys(text) {
  const { keys: list } = JSON.parse(text);
  const keys = new Map();
  for (const { kid, kty, crv, x, introduction } of [...list].reverse()) {
    if (keys.size > 0 || (introduction ?? null) !== null) {
      const said = signed(keys, introduction, "emanet-receipt-key+jws", `key ${kid}`);
      if (said.kid !== kid || said.x !== x) throw new Bad(`key ${kid}`, "its introduction is about another key");
    }
    keys.set(kid, createPublicKey({ key: { kty, crv, x }, format: "jwk" }));
  }
  return keys;
}

/** The checkpoints in any text, by chain and number. Wrong signatures are an error, not a comparison. */
export async function readEarlier(chunks, keys, found = new Map()) {
  for await (const { bytes } of linesOf(chunks, () => "earlier file")) {
    for (const [jws] of bytes.toString("latin1").matchAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g)) {
      const { typ } = parseObject(Buffer.from(jws.split(".")[0], "base64url"), "earlier file");
      if (typ !== "emanet-audit-checkpoint+jws") continue;
      const { chain, seq, hash } = signed(keys, jws, typ, "earlier file");
      found.set(`${chain} ${seq}`, hash);
    }
  }
  return found;
}

// --- the command

async function* openFile(name) {
  const file = createReadStream(name, { highWaterMark: 1024 * 1024 });
  let isFirst = true;
  let gunzip = null;
  for await (const chunk of file) {
    if (isFirst && chunk[0] === 0x1f && chunk[1] === 0x8b) gunzip = true;
    isFirst = false;
    if (gunzip) break;
    yield chunk;
  }
  if (gunzip) yield* unzipped(createReadStream(name).pipe(createGunzip()));
}

async function* unzipped(stream) {
  try {
    yield* stream;
  } catch {
    throw new Bad("closing", "the compressed file is broken");
  }
}

function argumentsOf(args) {
  const wanted = { file: null, keys: null, earlier: [], whole: null };
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === "--keys") wanted.keys = args[++at] ?? null;
    else if (args[at] === "--earlier") wanted.earlier.push(args[++at] ?? "");
    else if (args[at] === "--whole") wanted.whole = args[++at] ?? "";
    else if (wanted.file === null && !args[at].startsWith("--")) wanted.file = args[at];
    else return null;
  }
  return wanted.file === null || wanted.keys === null ? null : wanted;
}

async function main(args) {
  const wanted = argumentsOf(args);
  if (wanted === null) {
    process.stderr.write("usage: node verify-audit.mjs FILE --keys KEYS.json [--earlier FILE]… [--whole FILE]\n");
    return 2;
  }
  let isRead = false;
  try {
    const keys = readKeys(readFileSync(wanted.keys, "utf8"));
    const earlier = new Map();
    for (const name of wanted.earlier) await readEarlier(openFile(name), keys, earlier);
    isRead = true;
    const whole = wanted.whole === null ? null : await readWhole(openFile(wanted.whole), keys);
    const found = await verifyExport(openFile(wanted.file), keys, earlier, { whole });
    const { chain, first, last, records, masked, selection, compared } = found;
    const parts = [`chain ${chain}`, `records ${first} to ${last}`, `${records} in the file`];
    if (selection === "filtered") parts.push("a selection: gaps are not checked");
    if (masked > 0) parts.push(`${masked} masked: signed, but their hashes cannot be computed`);
    if (whole !== null) parts.push("all of them as in the whole export");
    if (wanted.earlier.length > 0) parts.push(`${compared} earlier checkpoints compared`);
    process.stdout.write(`good: ${parts.join(", ")}\n`);
    return 0;
  } catch (error) {
    if (error instanceof Bad) {
      process.stdout.write(`bad: ${error.message}\n`);
      return 1;
    }
    if (error.code === undefined && isRead) {
      process.stdout.write(`bad: the file cannot be read as an export (${error.message})\n`);
      return 1;
    }
    process.stderr.write(`not checked: ${error.message}\n`);
    return 2;
  }
}

const [, script] = process.argv;
if (script !== undefined && import.meta.url === pathToFileURL(realpathSync(script)).href) {
  process.exitCode = await main(process.argv.slice(2));
}
