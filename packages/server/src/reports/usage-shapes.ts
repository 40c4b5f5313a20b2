/** What the reports about usage share. */

import { closed } from "../kernel/http/schema.ts";
import { byteCount } from "../vaults/index.ts";
import { daySchema } from "./istanbul-days.ts";

export const usageBytes = {
  stored_bytes: byteCount("What is stored, after deduplication and compression."),
  size_bytes: byteCount("Bytes of the files of the last completed snapshots of its sources."),
};

export const usageDay = closed({ day: daySchema("The day."), ...usageBytes }, { title: "UsageDay" });
