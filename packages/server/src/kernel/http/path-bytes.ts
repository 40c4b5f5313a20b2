/**
 * Paths that end with `{path+}`: everything behind the prefix is one parameter, slashes included, and any byte may stand in it.
 * Routers decode a path as UTF-8 and refuse other bytes. So the parameter is taken off before routing, and a mark stands
 * for it in the URL that the later stages see: no log, report or scan counter meets a file path.
 */

import type { IncomingMessage } from "node:http";
import { maxUrlLength } from "./path-rules.ts";

/** In place of the parameter, in routes and in rewritten URLs. */
const mark = "-";

const wildcard = /\{(\w+)\+\}$/;

/** The bytes of the parameter; null when its percent-encoding is broken. */
const parameters = new WeakMap<IncomingMessage, Buffer | null>();

/** The name of the last parameter when it takes the rest of the path. */
export function wildcardOf(path: string): string | null {
  return wildcard.exec(path)?.[1] ?? null;
}

/** The path without the sign of a wildcard, as the router (`mark`) or the document (`{path}`) has it. */
export function withMark(path: string): string {
  return path.replace(wildcard, mark);
}

export function inDocument(path: string): string {
  return path.replace(wildcard, "{$1}");
}

/** Takes the parameter off the URLs of these paths. */
export function urlRewriter(paths: readonly string[]): (raw: IncomingMessage) => string {
  const prefixes = [...new Set(paths.filter((path) => wildcardOf(path) !== null))].map(
    (path) => new RegExp(`^(${path.replace(wildcard, "").replaceAll(/\{\w+\}/g, "[^/?#]+")})([^?#]*)`),
  );
  return (raw) => {
    const url = raw.url ?? "";
    // Refused for its length, which must be seen.
    if (url.length > maxUrlLength) return url;
    for (const prefix of prefixes) {
      const match = prefix.exec(url);
      if (match === null) continue;
      const [whole, before = "", encoded = ""] = match;
      parameters.set(raw, percentDecoded(encoded));
      return `${before}${mark}${url.slice(whole.length)}`;
    }
    return url;
  };
}

/** The parameter of a request; undefined when its URL had none, also when it was spelled in a way that no route has. */
export function pathBytesOf(raw: IncomingMessage): Buffer | null | undefined {
  return parameters.get(raw);
}

/** The bytes of a percent-encoded text; null when its encoding is broken. */
export function percentDecoded(text: string): Buffer | null {
  if (!text.includes("%")) return Buffer.from(text, "latin1");
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return null;
  const plain = text.replaceAll(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(plain, "latin1");
}
