/** The events of retention. */

import { eventType } from "../kernel/events.ts";
import { closed, Type, uuid } from "../kernel/http/schema.ts";

const count = (description: string) =>
  Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const sourceSuspicious = eventType({
  name: "source.suspicious",
  summary: "A snapshot lost or changed most files",
  description:
    "More than half of the source's files are gone or different. Nothing of the source expires until a person accepts it.",
  ofVault: true,
  fields: closed(
    {
      source_id: uuid("The source."),
      snapshot_id: uuid("The snapshot."),
      lost: count("Files that are gone."),
      changed: count("Files that are different."),
    },
    { title: "SourceSuspicious" },
  ),
});

export const retentionEvents = [sourceSuspicious];
