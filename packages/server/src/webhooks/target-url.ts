/**
 * The address of a webhook, as far as its text says: https, no user info, a port that web servers use, and a host that is a public
 * address or a name that public DNS can have. The WHATWG parser has normalized the host by then: every spelling of an IPv4
 * address (octal, hex, one number, missing parts, full-width digits) is four decimal numbers.
 */

import { isIP } from "node:net";
import { type AllowList, isPublicAddress } from "./public-address.ts";

/** What servers and proxies accept in practice. */
export const maxUrlLength = 2048;

/** Below it are services that have no reason to speak HTTPS; above it are the ports that web applications use. */
const firstFreePort = 1024;
const httpsPort = 443;

/** Names that never lead to the public Internet (RFC 6761, RFC 6762, RFC 8375, RFC 9476, ICANN's .internal), and common private ones. */
const privateZones = new Set([
  ...["localhost", "local", "internal", "localdomain", "intranet", "private", "corp", "home", "lan", "arpa", "invalid"],
  ...["onion", "alt"],
]);

export interface WebhookTarget {
  readonly href: string;
  /** Without brackets and without the dot of the root. */
  readonly host: string;
  readonly port: number;
}

/** Null for an address that no webhook may have. */
export function parseTarget(text: string, allowed: AllowList): WebhookTarget | null {
  if (text.length > maxUrlLength || !URL.canParse(text)) return null;
  // A backslash, a tab or a line break is removed or changed by the parser: what is saved would not be what was typed.
  if (/[\s\\\p{Cc}]/u.test(text)) return null;
  const url = new URL(text);
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "" || /^[^/?#]*:\/\/[^/?#]*@/.test(text))
    return null;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const port = url.port === "" ? httpsPort : Number(url.port);
  const target = { href: url.href, host, port };
  if (allowed.hasHost(host) || allowed.hasAddress(host)) return target;
  if (port !== httpsPort && port < firstFreePort) return null;
  if (isIP(host) !== 0) return isPublicAddress(host) ? target : null;
  return isPublicName(host) ? target : null;
}

/** Labels of letters, digits and hyphens, at least two, and no zone that is private by definition. */
function isPublicName(host: string): boolean {
  const labels = host.toLowerCase().split(".");
  const zone = labels.at(-1) ?? "";
  const isName = labels.length >= 2 && labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));
  return isName && !privateZones.has(zone) && !/^\d+$/.test(zone);
}
