/** `cat`: writes a file of a snapshot to standard output. Every byte is checked against its hash first. */

import { FileReader } from "@emanet/engine/read";
import { RestoreWorkerPool } from "@emanet/engine/restore";
import { CommandFailure, exitCodes } from "../failure.ts";
import { safeText } from "../output/safe-text.ts";
import { joinPath, requireEntry, splitPath } from "../tree/walk.ts";
import type { Command } from "./command.ts";
import { findSnapshot, placeOf } from "./options.ts";

export const cat: Command = async (run) => {
  const { line, signal } = run;
  const wanted = line.word(0, "a snapshot");
  const file = line.word(1, "a file");
  const place = await placeOf(run);
  const pool = new RestoreWorkerPool(0);
  try {
    const snapshot = await place.open(await findSnapshot(place, wanted, line.text("source")), {
      paths: [joinPath(splitPath(file))],
      withContent: true,
    });
    const { entry } = await requireEntry(snapshot, file);
    if (entry.type !== "file") throw new CommandFailure(`${safeText(file)} is not a file`);
    const reader = new FileReader({ port: snapshot.port, pool });
    for await (const chunk of reader.read(entry, undefined, signal)) await run.outBytes(chunk);
    return exitCodes.done;
  } finally {
    await pool.close();
    await place.close();
  }
};
