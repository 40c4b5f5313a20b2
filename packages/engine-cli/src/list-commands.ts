/** `snapshots` and `stats`: they read the catalog and change nothing. */

import { statSync } from "node:fs";
import path from "node:path";
import { allSnapshots } from "@emanet/engine/vault";
import type { Answer, ReadRepository } from "./answer.ts";
import { ok, rowData } from "./answer.ts";
import { bytesText } from "./progress.ts";
import type { Repository } from "./repository.ts";

export async function snapshotsCommand({ catalog }: Pick<ReadRepository, "catalog">): Promise<Answer> {
  const rows = await Array.fromAsync(allSnapshots(catalog));
  const lines = rows.map(
    (row) =>
      `${row.id}  ${new Date(row.completedAt).toISOString()}  ${row.files} files  ${bytesText(row.size)}  ${row.source}${row.status === "recovered" ? "  (recovered)" : ""}`,
  );
  return ok(lines.length === 0 ? ["no snapshots"] : lines, { snapshots: rows.map(rowData) });
}

export async function statsCommand({ catalog, folder }: Repository): Promise<Answer> {
  const snapshots = await Array.fromAsync(allSnapshots(catalog));
  const packs = await Array.fromAsync(catalog.allPacks());
  let segments = 0;
  let nodes = 0;
  for await (const { kind } of catalog.allItems()) kind === "node" ? nodes++ : segments++;
  let frames = 0;
  let damaged = 0;
  for await (const row of catalog.allFrames()) {
    frames++;
    if (row.damaged) damaged++;
  }
  const stored = packs.reduce((sum, { size }) => sum + size, 0);
  const restorable = snapshots.reduce((sum, { size }) => sum + size, 0);
  const catalogBytes = statSync(path.join(folder, "catalog.sqlite")).size;
  const data = {
    snapshots: snapshots.length,
    restorable_bytes: restorable,
    stored_bytes: stored,
    catalog_bytes: catalogBytes,
    packs: packs.length,
    frames,
    damaged_frames: damaged,
    segments,
    nodes,
  };
  return {
    lines: Object.entries(data).map(
      ([name, value]) => `${name.replaceAll("_", " ")}: ${name.endsWith("bytes") ? bytesText(value) : value}`,
    ),
    data,
    complete: damaged === 0,
  };
}
