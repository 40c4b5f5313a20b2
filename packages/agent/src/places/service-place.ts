/** Snapshots of the service: its API lists them, and the read protocol opens them. */

import type { Snapshot } from "@emanet/client/source";
import { isProblem } from "@emanet/client/source";
import { FrameReader } from "@emanet/engine/read";
import { RemoteReadPort } from "@emanet/engine/remote";
import { readCalls, snapshotReads } from "../api/calls.ts";
import type { Connection } from "../api/connection.ts";
import type { Throttle } from "../api/throttle.ts";
import type { AgentContext } from "../context.ts";
import type { OpenSnapshot, Place, SnapshotInfo } from "./place.ts";

const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The largest page of the API. */
const pageSize = 100;

export interface ServicePlace extends Place {
  readonly connection: Connection;
  /** A source by its id or name: in the vault that was named, in the only one that has it, or in the default vault. */
  sourceId(source: string): Promise<string>;
}

export interface ServicePlaceOptions {
  /** Only what is in this vault. */
  readonly vaultId: string | null;
  readonly throttle: Throttle | null;
}

export function servicePlace(
  { wait }: AgentContext,
  connection: Connection,
  { vaultId, throttle }: ServicePlaceOptions,
): ServicePlace {
  const { client } = connection;
  const within = vaultId === null ? {} : { vault_id: vaultId };
  const sourceId = async (source: string) => {
    if (isId.test(source)) return source;
    const { data } = await client.sources.list({ name: source, limit: 2, ...within });
    const [only, another] = data;
    // A name that several vaults have, or a former name: the service looks in the default vault.
    return only === undefined || another !== undefined ? source : only.id;
  };
  return {
    connection,
    sourceId,
    async *snapshots({ source, all = false, newest = false }) {
      const query = {
        ...{ limit: newest ? 1 : pageSize, ...within },
        // In a vault a name is enough.
        ...(source !== undefined && { source: vaultId === null ? await sourceId(source) : source }),
        ...(!all && { status: "completed" as const }),
      };
      for await (const snapshot of client.snapshots.list.all(query)) {
        yield infoOf(snapshot);
        if (newest) return;
      }
    },
    async get(id) {
      if (!isId.test(id)) return null;
      try {
        return infoOf(await client.snapshots.get({ id }));
      } catch (error) {
        if (isProblem(error, "not_found")) return null;
        throw error;
      }
    },
    async open(info, wanted): Promise<OpenSnapshot> {
      const calls = readCalls(snapshotReads(client, info.id), (ms) => wait(ms), throttle);
      const port = await RemoteReadPort.open(calls, wanted);
      return { info, port, reader: new FrameReader(port, { keepsItems: true }), root: port.root };
    },
    // The service finds damage itself; a client's word would be a claim.
    reportDamaged: async () => {},
    close: async () => connection.close(),
  };
}

export function infoOf(snapshot: Snapshot): SnapshotInfo {
  return {
    id: snapshot.id,
    source: snapshot.source.name,
    vaultId: snapshot.vault_id,
    createdAt: Date.parse(snapshot.created_at),
    completedAt: snapshot.completed_at === null ? null : Date.parse(snapshot.completed_at),
    status: snapshot.status,
    sizeBytes: snapshot.size_bytes,
    fileCount: snapshot.file_count,
    warningCount: snapshot.warning_count,
    storedBytes: snapshot.stored_bytes ?? null,
    label: snapshot.label,
    rootHash: snapshot.root_hash,
  };
}
