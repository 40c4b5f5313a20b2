/**
 * The structured log: JSON lines on standard error, by an allow-list. Standard output is for the operator's own lines
 * (`ready …`).
 *
 * Nouns: an *event* is a fixed snake_case word chosen in the code; a *field* is one name of {@link LogFields}, with a
 * *rule* that turns a value into what may be written, or refuses it.
 *
 * Invariants
 * - Personal data has no field to travel in: no free text, no error message, no URL, no path of a customer, no body.
 * - The rules hold at run time too. What a cast smuggles past the types is dropped, and the line says how many
 *   fields it lost (`dropped`), so that a mistake is seen without showing what it was.
 * - No number reaches 10⁹: a tax number (10 or 11 digits) or a phone number cannot pass as one.
 * - Addresses are cut to their network (IPv4 /24, IPv6 /48) here, whatever the caller passes.
 *
 * A line has neither host nor writing process. A host name is a person's name in many offices, and the collector knows where it
 * collects; the field `pid` is for the process an event is about.
 */

import ipaddr from "ipaddr.js";
import type { Clock } from "./clock.ts";
import { classNamePattern, describeError, isSystemCode, locationPattern } from "./error-facts.ts";
import { isUuid } from "./uuid.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Everything a log line may carry. A new field is a decision about personal data: its rule below says why it has none. */
export interface LogFields {
  /** Ours (a UUID) or the client's own; see the rule for what is refused. */
  readonly request_id?: string | undefined;
  /** Our own id of a request that the client named: what its problem's `instance` says. */
  readonly instance?: string | undefined;
  /** Dotted name of an endpoint, e.g. `applications.create`; never a path. */
  readonly operation?: string | undefined;
  readonly method?: string | undefined;
  readonly status?: number | undefined;
  readonly duration_ms?: number | undefined;
  readonly protocol?: string | undefined;
  /** A code of the error catalogue. */
  readonly error_code?: string | undefined;
  /** Class of an error; with the next three made by {@link errorFields}. */
  readonly error_name?: string | undefined;
  /** SQLSTATE, errno name, or a code of Node, TLS or the mail library. */
  readonly error_system_code?: string | undefined;
  /** Where it was thrown, innermost first: `function file:line:column`, files relative to the project. */
  readonly error_at?: readonly string[] | undefined;
  /** Classes of its causes, outermost first. */
  readonly error_causes?: readonly string[] | undefined;
  /** Any valid address; written as its network. */
  readonly ip?: string | undefined;
  /** Name of a background task. */
  readonly job?: string | undefined;
  readonly attempt?: number | undefined;
  readonly count?: number | undefined;
  readonly port?: number | undefined;
  /** Of the process that the event is about. */
  readonly pid?: number | undefined;
  readonly signal?: string | undefined;
  readonly role?: string | undefined;
  readonly profile?: string | undefined;
  readonly version?: string | undefined;
  /** File name of a migration of ours, without its extension. */
  readonly migration?: string | undefined;
  readonly account_id?: string | undefined;
  /** Id of the object concerned. */
  readonly target_id?: string | undefined;
  /** Name of a message template. */
  readonly template?: string | undefined;
  readonly channel?: string | undefined;
  readonly policy?: string | undefined;
  readonly outcome?: string | undefined;
  /** A word of the code or a system code for why, never a sentence. */
  readonly reason?: string | undefined;
  /** Name of the setting concerned, e.g. `EMANET_LISTEN`; never its value. */
  readonly setting?: string | undefined;
}

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A log whose every line has these fields; a line's own win. */
  child(fields: LogFields): Log;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Takes one whole line, its line break included. */
  readonly write: (line: string) => void;
  /** Called with the number of fields that a line lost; for a metric. */
  readonly onDropped?: (count: number) => void;
}

/**
 * Makes the log of one service instance.
 *
 * @example
 * const log = createLog({ level: "info", clock: systemClock, write: standardErrorWriter() });
 * log.info("request_completed", { request_id, operation: "applications.create", status: 202, duration_ms: 12.4 });
 */
export function createLog(options: LogOptions): Log {
  const { clock, onDropped, write } = options;
  const timeOf = isoTimes();

  function at(level: "debug" | "info" | "warn" | "error", bound: Allowed) {
    if (logLevels.indexOf(level) < logLevels.indexOf(options.level)) return () => undefined;
    return (event: string, fields: LogFields = {}): void => {
      const known = isWord(event);
      const own = allowedFields(fields, { event: known ? event : "unnamed_event", ...bound.fields });
      const dropped = bound.dropped + own.dropped + (known ? 0 : 1);
      if (dropped > 0) onDropped?.(dropped);
      const text = JSON.stringify(dropped > 0 ? { ...own.fields, dropped } : own.fields);
      write(`{"level":"${level}","time":"${timeOf(clock.now().getTime())}",${text.slice(1)}\n`);
    };
  }

  function bind(bound: Allowed): Log {
    return {
      debug: at("debug", bound),
      info: at("info", bound),
      warn: at("warn", bound),
      error: at("error", bound),
      child: (fields) => {
        const more = allowedFields(fields);
        return bind({ fields: { ...bound.fields, ...more.fields }, dropped: bound.dropped + more.dropped });
      },
    };
  }

  return bind({ fields: {}, dropped: 0 });
}

/** Writes moments as text. Many lines are of the same millisecond. */
function isoTimes(): (ms: number) => string {
  let last = { ms: Number.NaN, text: "" };
  return (ms) => {
    if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
    return last.text;
  };
}

/** Writes nothing: for tests, and for library calls that need a log. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

/** What a log line may contain of an error: classes, codes and places in our code. Never its message. */
export function errorFields(error: unknown): LogFields {
  const facts = describeError(error);
  return {
    error_name: facts.name,
    error_system_code: facts.systemCode,
    error_at: facts.locations.map((place) =>
      [place.function, `${place.file}:${place.line}:${place.column}`].filter((part) => part !== undefined).join(" "),
    ),
    error_causes: facts.causes.map((cause) => cause.name),
  };
}

/**
 * Writes lines to standard error. Lines of one turn of the event loop are one write, because a write costs more than the
 * line; the end of the process writes what is left.
 */
export function standardErrorWriter(): (line: string) => void {
  process.stderr.off("error", ignoreLostReader).on("error", ignoreLostReader);
  let waiting = "";
  const flush = () => {
    const lines = waiting;
    waiting = "";
    if (lines !== "") process.stderr.write(lines);
  };
  process.once("exit", flush);
  return (line) => {
    if (waiting === "") setImmediate(flush);
    waiting += line;
  };
}

/** A closed pipe (EPIPE) must not end the service, and there is no other place for the message. */
function ignoreLostReader(): void {}

/** The fields that may leave the process, and how many were refused. Error reports use the same rules. */
export interface Allowed {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly dropped: number;
}

/** Applies the rules; an absent or undefined field is neither kept nor counted. Adds to `kept`. Never throws. */
export function allowedFields(fields: LogFields, kept: Record<string, unknown> = {}): Allowed {
  let dropped = 0;
  for (const name of namesOf(fields)) {
    const written = writtenValue(fields, name);
    if (written === undefined) continue;
    if (written === refused) dropped += 1;
    else kept[name] = written;
  }
  return { fields: kept, dropped };
}

/** A log call must not fail its caller, so what cannot be read is refused. */
function namesOf(fields: LogFields): readonly string[] {
  try {
    return Object.keys(fields);
  } catch {
    return [];
  }
}

const refused = Symbol("refused");

/** What is written for a field; undefined for a field without a value. */
function writtenValue(fields: LogFields, name: string): unknown {
  try {
    const value = (fields as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) return undefined;
    const rule = Object.hasOwn(rules, name) ? rules[name as keyof LogFields] : undefined;
    return rule?.(value) ?? refused;
  } catch {
    return refused;
  }
}

/** Returns what is written for a value, or undefined to refuse it. */
type Rule = (value: unknown) => unknown;

/** Below every tax number (10 or 11 digits) and phone number. */
const numberBelow = 1_000_000_000;

/** Longer than any operation, event or template name in use. */
const nameLengthMax = 64;

/** A stack deeper than this repeats the framework. */
const locationsMax = 30;

/** As many causes as {@link describeError} follows. */
const causesMax = 4;

/** Letters with at most three digits per part: no phone number, tax number or one-time code is such a word. */
const wordPattern = /^[a-z]+\d{0,3}(?:_(?:[a-z]+\d{0,3}|\d{1,3}))*$/;

const rules: { readonly [Name in keyof Required<LogFields>]: Rule } = {
  // The client may choose it within this form; all digits could be a tax or phone number, so those are refused.
  request_id: text((value) => /^[A-Za-z0-9_-]{1,64}$/.test(value) && !/^[\d_-]{5,}$/.test(value)),
  instance: text(isUuid),
  operation: text((value) => value.split(".").every(isWord)),
  method: oneOf(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]),
  status: whole(100, 599),
  duration_ms: (value) => (isNumber(value) ? Math.round(value * 10) / 10 : undefined),
  protocol: oneOf(["h2", "http/1.1", "http/1.0"]),
  error_code: text(isWord),
  error_name: text((value) => classNamePattern.test(value)),
  error_system_code: (value) => (isSystemCode(value) ? value : undefined),
  error_at: list(locationsMax, (item) => locationPattern.test(item)),
  error_causes: list(causesMax, (item) => classNamePattern.test(item)),
  ip: truncatedAddress,
  job: text((value) => value.split(/[.-]/).every(isWord)),
  attempt: whole(0, 1_000),
  count: whole(0, numberBelow),
  port: whole(0, 65_535),
  pid: whole(0, 4_194_304),
  signal: text((value) => /^SIG[A-Z]{2,8}\d?$/.test(value)),
  role: oneOf(["api", "worker", "all", "migrate"]),
  profile: oneOf(["local", "sandbox", "production"]),
  version: text((value) => /^v?\d{1,4}(?:\.\d{1,4}){0,2}(?:-[a-z]{1,10}(?:\.\d{1,4})?)?$/.test(value)),
  migration: text((value) => /^\d{4}_/.test(value) && isWord(value.slice(5))),
  account_id: text(isUuid),
  target_id: text(isUuid),
  template: text(isWord),
  channel: oneOf(["mail", "sms"]),
  policy: text(isWord),
  outcome: text(isWord),
  reason: text((value) => isWord(value) || isSystemCode(value)),
  setting: text((value) => /^EMANET(?:_[A-Z]+)+$/.test(value)),
};

function isWord(value: string): boolean {
  return typeof value === "string" && value.length <= nameLengthMax && wordPattern.test(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < numberBelow;
}

function whole(least: number, most: number): Rule {
  return (value) => (isNumber(value) && Number.isInteger(value) && value >= least && value <= most ? value : undefined);
}

function text(holds: (value: string) => boolean): Rule {
  return (value) => (typeof value === "string" && value.length <= nameLengthMax && holds(value) ? value : undefined);
}

function oneOf(allowed: readonly string[]): Rule {
  return (value) => allowed.find((item) => item === value);
}

/** The items that hold; a list that loses all of them is refused whole. */
function list(most: number, holds: (item: string) => boolean): Rule {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const kept = value.slice(0, most).filter((item) => typeof item === "string" && holds(item));
    return kept.length > 0 || value.length === 0 ? kept : undefined;
  };
}

/** The network of an address: enough to tell one office from another, and no person. The audit trail uses it too. */
export function truncatedAddress(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > maxAddressLength) return undefined;
  const known = networks.get(value);
  if (known !== undefined) return known;
  const network = networkOf(value);
  if (network === undefined) return undefined;
  if (networks.size >= maxKnownNetworks) networks.clear();
  networks.set(value, network);
  return network;
}

/** Networks of addresses that were asked for lately: a client sends many requests from one address. */
const networks = new Map<string, string>();

/** About 200 kB. */
const maxKnownNetworks = 1_000;

/** An IPv6 address with a zone. */
const maxAddressLength = 64;

function networkOf(value: string): string | undefined {
  if (!ipaddr.isValid(value)) return undefined;
  const address = ipaddr.process(value);
  return address.kind() === "ipv4"
    ? `${ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/24`).toString()}/24`
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toNormalizedString()}/48`).toString()}/48`;
}
