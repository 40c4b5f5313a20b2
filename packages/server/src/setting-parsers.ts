/** How the text of a setting becomes a value. A parser throws an Error whose message completes "EMANET_X must be …". */

import path from "node:path";
import ipaddr from "ipaddr.js";

/** Host and port to bind; port 0 takes a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface Rate {
  readonly count: number;
  readonly seconds: number;
}

export function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => allowed.find((value) => value === text) ?? fail(`one of ${allowed.join(", ")}`);
}

export function flag(text: string): boolean {
  return oneOf(["0", "1"])(text) === "1";
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= least && value <= most ? value : fail(`a whole number, ${least} to ${most}`);
  };
}

export function listenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host !== undefined && port <= 65_535 ? { host, port } : fail("host:port, e.g. 127.0.0.1:8443 or [::1]:8443");
}

export function publicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const bare = url?.protocol === "https:" && url.pathname === "/" && !url.search && !url.hash;
  const anonymous = url?.username === "" && url.password === "";
  return bare && anonymous ? url.origin : fail("an https URL without a path, e.g. https://api.example.com");
}

export function urlOf(...protocols: readonly string[]): (text: string) => string {
  return (text) =>
    URL.canParse(text) && protocols.includes(new URL(text).protocol)
      ? text
      : fail(`a URL with ${protocols.join(" or ")}`);
}

/** Also `postgresql://user@/db?host=/socket`, as PostgreSQL itself writes it; a URL must have a host to be one. */
export function databaseUrl(text: string): string {
  return urlOf("postgres:", "postgresql:")(text.replace("@/", "@localhost/"));
}

/** The store itself checks the rest when it is opened. `memory:` is for tests. */
export function storageAddress(text: string): string {
  return /^(file:.|s3:\/\/.|memory:$)/.test(text) ? text : fail("file:/folder or s3://bucket/prefix?…");
}

/** The form of a DSN. It is checked at the start, so that a wrong one is reported then. */
export function reportsDsn(text: string): string {
  const whole = /^https?:\/\/\w+@(?:\[[0-9a-fA-F:]+\]|[\w.-]+)(?::\d{1,5})?\/(?:[\w.-]+\/)*\d+$/.test(text);
  return whole ? text : fail("https://<key>@<host>/<project number>");
}

/** One plain address: nothing that would be a separator, a quote or a comment in a header. */
export function mailAddress(text: string): string {
  const plain = /^[^\s<>()[\]\\,;:"@]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text);
  return plain && text.length <= maxMailAddressLength ? text : fail("one e-mail address");
}

/** RFC 5321: 254 octets. */
const maxMailAddressLength = 254;

export function sender(text: string): string {
  try {
    mailAddress(/^[^<>]*<([^<>]+)>$/.exec(text.trim())?.[1] ?? text.trim());
    return text;
  } catch {
    return fail("an e-mail address, or Name <address>");
  }
}

function isHost(item: string): boolean {
  const label = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
  return ipaddr.isValid(item) || new RegExp(`^${label}(?:\\.${label})*$`).test(item);
}

export function hostList(text: string): readonly string[] {
  return nameList(text).map((item) => (isHost(item) ? item : fail("host names or addresses, comma-separated")));
}

export function cidrList(text: string): readonly string[] {
  return nameList(text).map((item) =>
    ipaddr.isValidCIDR(item) ? item : fail("CIDRs like 10.0.0.0/8, comma-separated"),
  );
}

export function hostOrCidrList(text: string): readonly string[] {
  const message = "host names, addresses or CIDRs, comma-separated";
  return nameList(text).map((item) => (ipaddr.isValidCIDR(item) || isHost(item) ? item : fail(message)));
}

/** Addresses with their ports. */
export function nameServers(text: string): readonly string[] {
  return nameList(text).map((item) => {
    const [, host = "", port = ""] = /^\[?([0-9a-fA-F.:]+?)\]?:(\d{1,5})$/.exec(item) ?? [];
    const isServer = ipaddr.isValid(host) && Number(port) > 0 && Number(port) <= 65_535;
    return isServer ? item : fail("addresses with ports, e.g. 127.0.0.1:53, comma-separated");
  });
}

export function nameList(text: string): readonly string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);
}

/** The engine's own message would quote the value. */
export function regularExpression(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    return fail("a regular expression");
  }
}

export function filePath(text: string): string {
  return path.resolve(text);
}

export function notEmpty(text: string): string {
  return text.trim() === "" ? fail("not blank") : text;
}

export function base64Key(text: string): Buffer {
  const key = Buffer.from(text, "base64");
  return key.length === 32 && /^[A-Za-z0-9+/]{43}=$/.test(text)
    ? key
    : fail("32 bytes in base64 (`openssl rand -base64 32`)");
}

export function rate(text: string): Rate {
  const match = /^([1-9]\d{0,8})\/([1-9]\d{0,7})$/.exec(text);
  return match ? { count: Number(match[1]), seconds: Number(match[2]) } : fail("count/seconds, e.g. 5/3600");
}

function fail(message: string): never {
  throw new Error(message);
}
