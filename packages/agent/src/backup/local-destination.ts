/** A backup to a local repository: packs go into its folder and rows into its catalog, by this process. */

import { createHash } from "node:crypto";
import path from "node:path";
import { FileCache, LocalTarget, writerKeys } from "@emanet/engine/backup";
import { stopHeapGrowth } from "@emanet/engine-cli";
import type { AgentContext } from "../context.ts";
import type { LocalPlace } from "../places/local-place.ts";
import type { BegunSnapshot, Destination } from "./destination.ts";

/** One pack: an interrupted run stores about that much again. */
const unitBytes = 16 * 1024 * 1024;

export function localDestination({ random }: AgentContext, place: LocalPlace): Destination {
  const { vault, writer, folder, catalog } = place.repository;
  const owner = Buffer.from(writer.id).toString("hex");
  return {
    folder: path.join(folder, "caches"),
    limitMemory: stopHeapGrowth,
    async begin({ source }): Promise<BegunSnapshot> {
      const upload = Buffer.from(random(16)).toString("hex");
      const recheck = async () => (await import("@emanet/engine")).recheckDamagedFrames(vault);
      const name = createHash("sha256").update(source).digest("hex").slice(0, 32);
      return {
        keys: writerKeys(vault.keys),
        signer: writer,
        target: new LocalTarget({ access: vault, upload, owner, authority: vault.authority, recheck }),
        settings: { unitBytes },
        owner,
        sourceName: source,
        cache: new FileCache(path.join(folder, "caches", `${name}.sqlite`)),
      };
    },
    async finish() {
      if ((await catalog.damagedFrames()).length === 0) return 0;
      const { heal } = await import("@emanet/engine");
      return (await heal(vault)).healed.length;
    },
    shownId: (id) => id,
    close: () => place.close(),
  };
}
