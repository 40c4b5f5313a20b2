/**
 * Files that the pages load: Swagger UI from its package, and our own script, style and icon. The name that is served
 * contains a hash of the content: `swagger-ui-bundle.3f2a….js`.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

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
  ".ico": "image/x-icon",
};

/** Reads all assets; throws when the package has changed. */
export function readAssets() {
  const swagger = path.dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  const own = path.join(import.meta.dirname, "browser");
  return {
    /** Swagger UI itself; defines `window.SwaggerUIBundle`. */
    script: readAsset(swagger, "swagger-ui-bundle.js"),
    /** Swagger UI's style sheet. */
    theme: readAsset(swagger, "swagger-ui.css"),
    /** Starts Swagger UI with our settings. */
    start: readAsset(own, "start.js"),
    /** Our own pages, and the frame around Swagger UI. */
    style: readAsset(own, "page.css"),
    icon: readAsset(own, "favicon.ico"),
  };
}

function readAsset(folder: string, file: string): Asset {
  const { name, ext } = path.parse(file);
  const contentType = contentTypes[ext];
  if (contentType === undefined) throw new Error(`no content type for ${file}`);
  const body = withoutSourceMap(readFileSync(path.join(folder, file)), ext);
  const hash = createHash("sha256").update(body).digest("hex").slice(0, hashChars);
  return { name: `${name}.${hash}${ext}`, contentType, body };
}

/** Removes the comment that names a source map: we do not serve maps, so developer tools would get a 404. */
function withoutSourceMap(content: Buffer, ext: string): Buffer {
  if (ext === ".ico") return content;
  return Buffer.from(
    content.toString("utf8").replace(/(?:\/\/# sourceMappingURL=\S+|\/\*# sourceMappingURL=\S+ ?\*\/)\s*$/, ""),
  );
}
