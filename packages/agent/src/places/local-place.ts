/** Snapshots of a local repository, or of a copy of a bucket: its catalog lists them, and its read port is the vault itself. */

import { FrameReader } from "@emanet/engine/read";
import { LocalReadPort } from "@emanet/engine/restore";
import type { SnapshotRow } from "@emanet/engine/vault";
import { allSnapshots } from "@emanet/engine/vault";
import type { ReadRepository, Repository } from "@emanet/engine-cli";
import { openRebuilt, openRepository, Progress } from "@emanet/engine-cli";
import type { CommandLine } from "../command-line/parse.ts";
import type { AgentContext } from "../context.ts";
import { CommandFailure } from "../failure.ts";
import type { OpenSnapshot, Place, SnapshotInfo } from "./place.ts";

export interface LocalPlace extends Place {
  readonly repository: Repository;
}

/** Opens a repository. One whose catalog is lost must be rebuilt first. */
export async function localPlace({ now, random }: AgentContext, folder: string): Promise<LocalPlace> {
  const repository = await openRepository(folder, { now, random });
  if (repository.catalogIsNew) {
    const { recover } = await import("@emanet/engine");
    await recover(repository.vault, "rebuild", () => undefined);
  }
  return { repository, ...placeOf(repository), close: () => repository.catalog.close() };
}

/** What a command line with `--repo` names: a repository, or with `--kit` a copy of a bucket. */
export async function readPlace(run: AgentContext & { readonly line: CommandLine }, folder: string): Promise<Place> {
  const kit = run.line.text("kit");
  if (kit === null) return localPlace(run, folder);
  const { now, random, err, terminalColumns } = run;
  const say = (text: string) => err(`${text}\n`);
  const progress = new Progress((text) => {
    if (terminalColumns() !== null && !run.line.has("quiet")) say(text);
  }, now);
  const { repository } = await openRebuilt(folder, kit, { ctx: { now, random }, err: say }, progress).finally(() =>
    progress.end(),
  );
  return { ...placeOf(repository), close: () => repository.close() };
}

function placeOf({ vault, catalog }: ReadRepository): Omit<Place, "close"> {
  const port = new LocalReadPort(vault);
  return {
    async *snapshots({ source }) {
      const rows = allSnapshots(catalog, { newestFirst: true });
      for await (const row of rows) if (source === undefined || row.source === source) yield infoOf(row);
    },
    async get(id) {
      const row = await catalog.snapshot(id);
      return row === null ? null : infoOf(row);
    },
    async open(info): Promise<OpenSnapshot> {
      const row = await catalog.snapshot(info.id);
      if (row === null) throw new CommandFailure(`no snapshot ${info.id}`);
      const root = { ordinal: row.rootOrdinal, id: row.rootId };
      return { info, port, reader: new FrameReader(port), root };
    },
    reportDamaged: (versions) => catalog.setDamaged([...versions], true),
  };
}

function infoOf(row: Omit<SnapshotRow, "reach">): SnapshotInfo {
  return {
    id: row.id,
    source: row.source,
    vaultId: null,
    createdAt: row.startedAt,
    completedAt: row.completedAt,
    status: row.status,
    sizeBytes: row.size,
    fileCount: row.files,
    warningCount: row.warnings,
    storedBytes: row.storedBytes,
    label: null,
    rootHash: Buffer.from(row.rootId).toString("hex"),
  };
}
