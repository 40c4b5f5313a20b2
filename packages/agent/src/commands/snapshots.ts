/** `snapshots`: lists them, newest first. */

import { exitCodes } from "../failure.ts";
import { bytesText, numberText, timeText } from "../output/numbers.ts";
import { safeText } from "../output/safe-text.ts";
import type { SnapshotInfo } from "../places/place.ts";
import type { Command } from "./command.ts";
import { placeOf } from "./options.ts";

export const snapshots: Command = async (run) => {
  const { line, texts, environment } = run;
  const { language } = environment;
  const place = await placeOf(run);
  let count = 0;
  try {
    for await (const info of place.snapshots({ source: line.text("source") ?? undefined, all: line.has("all") })) {
      count++;
      run.data(snapshotData(info));
      const size = info.sizeBytes === null ? "-" : bytesText(info.sizeBytes, language);
      const files = info.fileCount === null ? "-" : texts.files(numberText(info.fileCount, language));
      const at = timeText(info.completedAt ?? info.createdAt, language);
      const more = [info.status === "completed" ? "" : info.status, info.label ?? ""].filter((text) => text !== "");
      run.say(
        [info.id, at, size.padStart(9), files.padStart(14), safeText([info.source, ...more].join("  "))].join("  "),
      );
    }
    if (count === 0) run.say(texts.noSnapshots);
    return exitCodes.done;
  } finally {
    await place.close();
  }
};

export function snapshotData(info: SnapshotInfo): object {
  return {
    type: "snapshot",
    id: info.id,
    source: info.source,
    vault_id: info.vaultId,
    status: info.status,
    created_at: new Date(info.createdAt).toISOString(),
    completed_at: info.completedAt === null ? null : new Date(info.completedAt).toISOString(),
    size_bytes: info.sizeBytes,
    file_count: info.fileCount,
    warning_count: info.warningCount,
    stored_bytes: info.storedBytes,
    label: info.label,
    root_hash: info.rootHash,
  };
}
