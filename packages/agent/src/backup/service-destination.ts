/** A backup to the service: a snapshot is created, then the upload protocol carries it. */

import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { FileCache } from "@emanet/engine/backup";
import { RemoteTarget } from "@emanet/engine/remote";
import { stopHeapGrowth } from "@emanet/engine-cli";
import { patiently, uploadCalls } from "../api/calls.ts";
import type { Connection } from "../api/connection.ts";
import { ensureAgent, vaultWriter } from "../api/registration.ts";
import { reportVersion } from "../api/release.ts";
import type { AgentContext } from "../context.ts";
import type { BegunSnapshot, Destination, SnapshotWishes } from "./destination.ts";
import { spoolOfLargeTrees } from "./pack-spool.ts";

/**
 * What an interrupted run sends again at most. Two packs may be sent and not registered, so the line does not wait while the first is registered
 * (docs/decisions/0633).
 */
export const maxUnregisteredBytes = 16 * 1024 * 1024;

/** A pack is complete with the frame that reaches this size. A frame has up to 2 MiB and a bit, so two packs are within the bound. */
const packBytes = 6 * 1024 * 1024;

/** Two that are sent, and one that waits while another is filled. */
const packsInFlight = 3;

/** A bundle of small files is one segment. Two workers hold eight, so four are cut while four are asked for. */
const segmentsPerOffer = 4;

/**
 * A worker cuts 500 MB of a stored dump in a second, so with answers after 30 ms it stands still with two buffers (docs/decisions/0647). Not more: each
 * step is 32 MiB for a worker.
 */
const lookahead = 2;

/** How the agent makes packs for the service. */
export const serviceSettings = {
  packBytes,
  packsInFlight,
  unitBytes: packBytes,
  maxUnregisteredBytes,
  segmentsPerOffer,
  lookahead,
};

export function serviceDestination(context: AgentContext, connection: Connection): Destination {
  const { client, folder } = connection;
  let reported = Promise.resolve();
  return {
    folder,
    // After many small files the backup prefers small heaps (docs/decisions/0648).
    limitMemory: stopHeapGrowth,
    async begin(wishes, again): Promise<BegunSnapshot> {
      const agent = await ensureAgent(context, connection);
      reported = reportVersion(context, connection, agent.id);
      const snapshot = await client.snapshots.create({ body: bodyOf(wishes) }, patiently);
      const { spool, onFiles } = spoolOfLargeTrees(context);
      try {
        const writer = await vaultWriter(context, connection, snapshot.vault_id, { again });
        return {
          ...writer,
          target: new RemoteTarget({
            ctx: context,
            call: uploadCalls(client, snapshot.id),
            pause: (ms) => context.wait(ms),
            spool,
          }),
          settings: serviceSettings,
          owner: agent.id,
          sourceName: snapshot.source.id,
          snapshotId: snapshot.id.replaceAll("-", ""),
          ...openCache(context, connection, snapshot.source.id),
          onFiles,
        };
      } catch (error) {
        // The first error is what matters. A snapshot that nobody uploads to is abandoned by the service.
        await client.snapshots.cancel({ id: snapshot.id }).catch(() => undefined);
        throw error;
      }
    },
    // The service heals in the background.
    finish: async () => {
      await reported;
      return 0;
    },
    shownId: (id) => id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
    close: async () => connection.close(),
  };
}

function bodyOf({ source, label, vaultId, taxpayerId, trigger, reference }: SnapshotWishes) {
  return {
    source,
    trigger,
    ...(label !== null && { label }),
    ...(vaultId !== null && { vault_id: vaultId }),
    ...(taxpayerId !== null && { taxpayer_id: taxpayerId }),
    ...(reference !== null && { external_reference: reference }),
  };
}

/** One file cache per source. It holds names and stats, so it is for nobody else. Without one a backup only takes longer. */
export function openCache(
  { environment }: AgentContext,
  { folder }: Pick<Connection, "folder">,
  source: string,
): Pick<BegunSnapshot, "cache" | "cacheError"> {
  const caches = path.join(environment.cacheFolder, path.basename(folder));
  const name = createHash("sha256").update(source).digest("hex").slice(0, 32);
  try {
    mkdirSync(caches, { recursive: true, mode: 0o700 });
    return { cache: new FileCache(path.join(caches, `${name}.sqlite`)) };
  } catch (error) {
    return { cacheError: error instanceof Error ? error : new Error(String(error)) };
  }
}
