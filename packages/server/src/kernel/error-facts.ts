/**
 * What may be said of an error outside the process: facts that come from our code, never from its data. Logs and
 * error reports are built from these facts alone.
 *
 * Nouns: a *name* is the class of an error; a *system code* is a SQLSTATE, an errno name or a library's code; a
 * *location* is a place in a source file of this project or of Node.
 *
 * Invariants
 * - The message is never used: it quotes input (`invalid input syntax for type uuid: "ada@…"`).
 * - A location names a file that exists in the project, and a function whose name is a word of that file's source: a
 *   message may contain lines that look like stack frames, and a property of an object gives its name to a function.
 * - Any value can be thrown. Nothing here throws, and every walk is bounded.
 */

import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { getSystemErrorMap } from "node:util";

export interface ErrorLocation {
  readonly function: string | undefined;
  /** Relative to the project with `/`, or `node:…`. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface ErrorFacts {
  readonly name: string;
  readonly systemCode: string | undefined;
  /** Innermost call first. */
  readonly locations: readonly ErrorLocation[];
  /** The chain of `cause`, and the errors of an AggregateError, flattened, outermost first. */
  readonly causes: readonly ErrorFacts[];
}

/** A name of a class, such as `DatabaseError` or `Http2Error`. Random letters of a key have more digits or no small ones. */
export const classNamePattern = /^(?=.*[a-z])(?!(?:.*\d){3})[A-Z][A-Za-z0-9]{0,63}$/;

/** The written form of a location, e.g. `readRow packages/server/src/kernel/tx.ts:40:11`. */
export const locationPattern =
  /^(?:[\w$]{1,64} )?(?:node:[\w/.-]{1,80}|(?:packages|node_modules|tools|tests|bench)\/[\w@+./-]{1,200}\.[cm]?[jt]s):\d{1,7}:\d{1,7}$/;

/** A longer chain of causes repeats itself or is a loop. */
const causesMax = 4;

/** Deeper frames are the framework's, the same for every error. */
const locationsMax = 20;

/** A stack text beyond this comes from a huge message; it is not searched. */
const stackLengthMax = 64 * 1024;

/** Describes anything that was thrown. */
export function describeError(error: unknown): ErrorFacts {
  const causes: ErrorFacts[] = [];
  const seen = new Set<unknown>([error]);
  const waiting = childrenOf(error);
  while (waiting.length > 0 && causes.length < causesMax) {
    const next = waiting.shift();
    if (seen.has(next)) continue;
    seen.add(next);
    causes.push({ ...ownFacts(next), causes: [] });
    waiting.push(...childrenOf(next));
  }
  return { ...ownFacts(error), causes };
}

/** Whether this is a code that PostgreSQL, the system, Node, TLS or the mail library would give. */
export function isSystemCode(code: unknown): code is string {
  return (
    typeof code === "string" && (systemCodes.has(code) || nodeCodePattern.test(code) || sqlStatePattern.test(code))
  );
}

/** Five characters by the SQL standard: too short for any number of a person, and not the six digits of a one-time code. */
const sqlStatePattern = /^[0-9A-Z]{5}$/;

/** Node's own and undici's. */
const nodeCodePattern = /^(?:UND_)?ERR(?:_[A-Z0-9]{1,20}){1,8}$/;

/** Names of errno, of nodemailer's errors, and OpenSSL's verdicts on a certificate. */
const systemCodes: ReadonlySet<string> = new Set([
  ...[...getSystemErrorMap().values()].map(([name]) => name),
  ...["ENOTFOUND", "EAI_AGAIN"],
  ...["EAUTH", "ECONNECTION", "EDNS", "EENVELOPE", "EMESSAGE", "ENOAUTH", "EPROTOCOL", "ESOCKET", "ESTREAM", "ETLS"],
  ...["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "CERT_REVOKED", "CERT_REJECTED", "CERT_UNTRUSTED"],
  ...["CERT_SIGNATURE_FAILURE", "CERT_CHAIN_TOO_LONG", "HOSTNAME_MISMATCH", "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ...["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
]);

/** The causes of one error: `cause`, and what an AggregateError collected. */
function childrenOf(error: unknown): unknown[] {
  const many = read(error, "errors");
  const cause = read(error, "cause");
  return [...(cause === undefined ? [] : [cause]), ...(Array.isArray(many) ? many.slice(0, causesMax) : [])];
}

function ownFacts(error: unknown): Omit<ErrorFacts, "causes"> {
  if (!isError(error)) return { name: "NotAnError", systemCode: undefined, locations: [] };
  const name = nameOf(error);
  return { name, systemCode: codeOf(error, name), locations: locationsOf(error) };
}

function isError(value: unknown): value is Error {
  try {
    return Error.isError(value);
  } catch {
    return false; // A revoked proxy.
  }
}

/** The class that the code declared; `error.name` is a property that data can reach. The platform's own are excepted. */
function nameOf(error: Error): string {
  const declared = read(read(prototypeOf(error), "constructor"), "name");
  if (declared === "DOMException") return platformNames.find((name) => name === read(error, "name")) ?? declared;
  return typeof declared === "string" && classNamePattern.test(declared) ? declared : "Error";
}

/** What Node throws as a DOMException. */
const platformNames = ["AbortError", "TimeoutError", "DataCloneError"];

/** A code counts as a SQLSTATE only if the database driver threw it, since other codes have five characters too. */
function codeOf(error: Error, name: string): string | undefined {
  const code = read(error, "code");
  if (!isSystemCode(code)) return undefined;
  return sqlStatePattern.test(code) && name !== "DatabaseError" && !systemCodes.has(code) ? undefined : code;
}

/** What was called, file, line and column. */
const framePattern = /^ {4}at (?:(.{1,200}?) \()?([^()\n]+?):(\d{1,7}):(\d{1,7})\)?$/;

/** Of `async Type.name [as alias]` the name. */
const calledPattern = /^(?:async )?(?:new )?(?:[\w$.<>]*\.)?([A-Za-z_$][\w$]{0,63})(?: \[as .*\])?$/;

function locationsOf(error: Error): ErrorLocation[] {
  const stack = read(error, "stack");
  if (typeof stack !== "string" || stack.length > stackLengthMax) return [];
  return stack
    .split("\n")
    .map(locationOf)
    .filter((place) => place !== undefined)
    .slice(0, locationsMax);
}

function locationOf(line: string): ErrorLocation | undefined {
  const match = framePattern.exec(line);
  const source = match?.[2] === undefined ? undefined : sourceFile(match[2]);
  if (match === null || source === undefined) return undefined;
  const called = calledPattern.exec(match[1] ?? "")?.[1] ?? "";
  return {
    function: source.words.has(called) ? called : undefined,
    file: source.name,
    line: Number(match[3]),
    column: Number(match[4]),
  };
}

interface SourceFile {
  readonly name: string;
  /** Every identifier in it. Empty for Node's own files, where the place says enough. */
  readonly words: ReadonlySet<string>;
}

/** The folder that holds `packages/` and `node_modules/`. */
const projectRoot = path.resolve(import.meta.dirname, "../../../..");

/** What was found out about file names seen in stacks; emptied when full, since forged names could grow it. */
const sourceFiles = new Map<string, SourceFile | undefined>();

/** More files than errors come from; each costs its list of words. */
const sourceFilesMax = 500;

/** Larger files are bundles of generated code. */
const sourceBytesMax = 1024 * 1024;

function sourceFile(written: string): SourceFile | undefined {
  if (/^node:[\w/.-]{1,80}$/.test(written)) return { name: written, words: new Set() };
  if (!sourceFiles.has(written)) {
    if (sourceFiles.size >= sourceFilesMax) sourceFiles.clear();
    sourceFiles.set(written, findSourceFile(written));
  }
  return sourceFiles.get(written);
}

/** Reads a file of ours, once: a few hundred kilobytes at most, and only after something went wrong. */
function findSourceFile(written: string): SourceFile | undefined {
  try {
    const absolute = written.startsWith("file:") ? fileURLToPath(written) : written;
    const name = path.relative(projectRoot, absolute).replaceAll(path.sep, "/");
    if (!sourceNamePattern.test(name) || name.includes("/../")) return undefined;
    const words =
      statSync(absolute).size <= sourceBytesMax
        ? readFileSync(absolute, "utf8").match(/(?<![\w$])[A-Za-z_$][\w$]*/g)
        : [];
    return { name, words: new Set(words) };
  } catch {
    return undefined; // Not a file of ours, so not a location.
  }
}

const sourceNamePattern = /^(?:packages|node_modules|tools|tests|bench)\/[\w@+./-]{1,200}\.[cm]?[jt]s$/;

/** Reads a property of anything; a getter that throws has no value. */
function read(from: unknown, key: string): unknown {
  try {
    return from === null || from === undefined ? undefined : (from as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function prototypeOf(value: object): unknown {
  try {
    return Object.getPrototypeOf(value);
  } catch {
    return undefined;
  }
}
