/**
 * The built application as bytes. `tools/dashboard.ts` has built it: `dist/current` names the folder of the last build.
 * It is read at the first request and kept; a build that comes later is served after a restart.
 */

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export interface DashboardFile {
  readonly contentType: string;
  readonly body: Buffer;
}

export interface DashboardFiles {
  readonly page: DashboardFile;
  /** By name, without the page. */
  readonly files: ReadonlyMap<string, DashboardFile>;
}

const dist = path.resolve(import.meta.dirname, "../../../dashboard/dist");

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

let read: DashboardFiles | null = null;

/** Null where nothing is built: `npm start` builds, a service that is started in another way may not. */
export function builtDashboard(): DashboardFiles | null {
  read ??= readBuild();
  return read;
}

function readBuild(): DashboardFiles | null {
  const folder = currentFolder();
  if (folder === null) return null;
  const files = new Map(readdirSync(folder).map((name) => [name, fileOf(folder, name)]));
  const page = files.get("index.html");
  if (page === undefined) return null;
  files.delete("index.html");
  return { page, files };
}

function currentFolder(): string | null {
  try {
    return path.join(dist, readFileSync(path.join(dist, "current"), "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function fileOf(folder: string, name: string): DashboardFile {
  const contentType = contentTypes[path.extname(name)];
  if (contentType === undefined) throw new Error(`no content type for ${name} of the dashboard`);
  return { contentType, body: readFileSync(path.join(folder, name)) };
}
