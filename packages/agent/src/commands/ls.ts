/** `ls`: lists a folder of a snapshot. */

import { exitCodes } from "../failure.ts";
import { entryData, entryLine } from "../tree/entry-text.ts";
import { joinPath, requireEntry, splitPath, walk } from "../tree/walk.ts";
import type { Command } from "./command.ts";
import { findSnapshot, placeOf } from "./options.ts";

export const ls: Command = async (run) => {
  const { line, environment } = run;
  const wanted = line.word(0, "a snapshot");
  const place = await placeOf(run);
  try {
    const [folder, isDeep] = [line.words[1] ?? "", line.has("recursive")];
    const snapshot = await place.open(await findSnapshot(place, wanted, line.text("source")), {
      paths: [joinPath(splitPath(folder))],
      withContent: isDeep,
    });
    const from = await requireEntry(snapshot, folder);
    for await (const { path, entry } of walk(snapshot, from, isDeep)) {
      run.data({ type: "entry", ...entryData(path, entry) });
      run.say(entryLine(path, entry, environment.language));
    }
    return exitCodes.done;
  } finally {
    await place.close();
  }
};
