// Compares the OpenAPI document with the last released one: a client of the release must work with this document.
// Every breaking change is named, and one is enough to fail. `/v2` is where breaking changes go.
//
//   node tools/run.mjs tools/openapi-compatible.ts               compares openapi.json with the newest release
//   node tools/run.mjs tools/openapi-compatible.ts --release     makes this document the released one

import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { breakingChanges } from "./openapi/compare.ts";
import { type Document, type Surface, surfaceOf } from "./openapi/surface.ts";

const root = path.resolve(import.meta.dirname, "..");
const released = path.join(root, "docs", "released");

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.filter((arg) => arg !== "--release");
  if (unknown.length > 0) {
    console.error(`unknown argument ${unknown.join(" ")}; usage: openapi-compatible [--release]`);
    return 2;
  }
  const current = surfaceOf(JSON.parse(await readFile(path.join(root, "openapi.json"), "utf8")) as Document);
  if (args.includes("--release")) {
    await writeFile(path.join(released, `openapi-${current.version}.json`), `${JSON.stringify(current, null, 1)}\n`);
    console.error(`openapi-${current.version}.json is the released surface now`);
    return 0;
  }
  const last = await newestRelease(released);
  const changes = breakingChanges(last, current);
  for (const change of changes) console.error(change);
  console.error(`${changes.length} changes that break clients of ${last.version}`);
  return changes.length === 0 ? 0 : 1;
}

/** The surface with the highest version in the folder. */
export async function newestRelease(folder: string): Promise<Surface> {
  const names = (await readdir(folder)).filter((name) => /^openapi-\d+\.\d+\.\d+\.json$/.test(name));
  const [newest] = names.sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
  if (newest === undefined) throw new Error(`no released OpenAPI surface in ${folder}`);
  return JSON.parse(await readFile(path.join(folder, newest), "utf8")) as Surface;
}
