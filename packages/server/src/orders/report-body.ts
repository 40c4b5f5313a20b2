/** What a run says about its order: how far it is, and what it did otherwise than asked. */

import { closed, oneOf, type Static, Type } from "../kernel/http/schema.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import { type Report, warningCodes } from "../restores/index.ts";
import { bodyPath, byteCount, bytesOfPath, maxPathBytes } from "../snapshots/index.ts";
import { maxWarningsPerCall, runId } from "./shapes.ts";

const warning = closed(
  {
    path: bodyPath("Its path in the snapshot."),
    code: oneOf(
      warningCodes,
      "`content_damaged`: a file that cannot be read. `entries_unreadable`: a directory some of whose entries cannot be. `skipped`: the file was there and stays. `renamed`: written under another name. `not_written`: it could not be written.",
    ),
  },
  { title: "OrderWarning" },
);

export const reportFields = {
  run_id: runId,
  bytes_restored: byteCount("Bytes of the files that were written so far."),
  files_restored: byteCount("Files that were written so far."),
  warnings: Type.Optional(
    closed(
      {
        first: byteCount("How many warnings were sent before these; so a repeated call adds none twice."),
        data: Type.Array(warning, { maxItems: maxWarningsPerCall }),
      },
      { title: "OrderWarnings" },
    ),
  ),
};

const reportShape = closed(reportFields);

/** Throws `validation_failed` for a path that is too long. */
export function reportOf(
  { bytes_restored, files_restored, warnings }: Omit<Static<typeof reportShape>, "run_id">,
  language: Language,
): Report {
  const data = (warnings?.data ?? []).map(({ path, code }) => ({ path: bytesOfPath(path), code }));
  const tooLong = data.findIndex(({ path }) => path.length > maxPathBytes);
  if (tooLong >= 0) {
    const errors = [invalidField(`/warnings/data/${tooLong}/path`, "too_long", language)];
    throw new Problem("validation_failed", { errors });
  }
  return {
    ...{ bytesRestored: bytes_restored, filesRestored: files_restored },
    warnings: warnings === undefined ? null : { first: warnings.first, data },
  };
}
