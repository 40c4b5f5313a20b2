/** What tus 1.0 adds to requests and answers (https://tus.io/protocols/resumable-upload). */

import { text } from "../kernel/http/schema.ts";
import { Problem } from "../kernel/problems.ts";

const version = "1.0.0";

export const tusHeader = text(20, {
  description: "The version of tus, where the client sends it.",
  examples: [version],
});

export const tusReplyHeaders = {
  "Tus-Resumable": text(20, { description: "The version of tus.", examples: [version] }),
};

export const offsetHeader = text(20, { description: "Bytes that are stored durably.", examples: ["67108864"] });

/** Refuses another version of the protocol and says which one is spoken. A client that names none speaks this one. */
export function requireVersion(asked: string | undefined): void {
  if (asked === undefined || asked === version) return;
  throw new Problem("precondition_failed", { headers: { "Tus-Version": version } });
}

export function tusHeaders(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return { "Tus-Resumable": version, ...more };
}
