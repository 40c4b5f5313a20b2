/**
 * Files that the pages load: the reader (Scalar) from its package, and our own scripts, styles and images. The name that is
 * served contains a hash of the content: `reader.3f2a….js`.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export interface Asset {
  readonly name: string;
  readonly contentType: string;
  readonly body: Buffer;
}

/** Enough of a SHA-256 to give each version of a file its own name; the whole hash would make long URLs. */
const hashChars = 16;

const contentTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".ico": "image/x-icon",
};

export type Assets = ReturnType<typeof readAssets>;

/** Reads all assets; throws when the package has changed. */
export function readAssets() {
  const texts = readFileSync(path.join(ownFolder, "reader.tr.json"), "utf8");
  return {
    /** Scalar itself; defines `window.Scalar`. */
    reader: asset("reader.js", readReader()),
    /** The words of the reader in Turkish; English ones are its own. */
    turkish: asset("reader.tr.js", Buffer.from(`window.readerTexts = ${texts.trim()};\n`)),
    /** Lets the reader work under our policy; runs before it. */
    policy: ownAsset("policy.js"),
    /** Sends the requests of the reader; runs in the page around its frame. */
    relay: ownAsset("relay.js"),
    /** Starts the reader with our settings. */
    start: ownAsset("start.js"),
    /** All pages, and the colours of the reader. */
    style: ownAsset("page.css"),
    mark: ownAsset("mark.svg"),
    icon: ownAsset("favicon.ico"),
  };
}

const ownFolder = path.join(import.meta.dirname, "browser");

function ownAsset(file: string): Asset {
  return asset(file, readFileSync(path.join(ownFolder, file)));
}

function asset(file: string, body: Buffer): Asset {
  const { name, ext } = path.parse(file);
  const contentType = contentTypes[ext];
  if (contentType === undefined) throw new Error(`no content type for ${file}`);
  const hash = createHash("sha256").update(body).digest("hex").slice(0, hashChars);
  return { name: `${name}.${hash}${ext}`, contentType, body };
}

/**
 * The package has the script as one string inside its plugin for Fastify. Only the string is read: no code of the package runs
 * in the service.
 */
function readReader(): Buffer {
  const plugin = readFileSync(fileURLToPath(import.meta.resolve("@scalar/fastify-api-reference")), "utf8");
  const [, literal] = /^var standalone_default = ("[^\n]*");$/m.exec(plugin) ?? [];
  if (literal === undefined) throw new Error("the package of the reader has another form than before");
  // A string of JavaScript may hold control characters as they are; one of JSON may not.
  const script: unknown = JSON.parse(literal.replaceAll(/\p{Cc}/gu, escapeControl));
  return Buffer.from(withoutSourceMap(String(script)));
}

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Removes the comment that names a source map: we do not serve maps, so developer tools would get a 404. */
function withoutSourceMap(script: string): string {
  return script.replace(/\/\/# sourceMappingURL=\S+\s*$/, "");
}
