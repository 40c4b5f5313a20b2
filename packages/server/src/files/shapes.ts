/** What the API shows of a file that was sent. */

import { closed, Type, text } from "../kernel/http/schema.ts";
import { byteCount } from "../snapshots/index.ts";

export const storedFile = closed(
  {
    size_bytes: byteCount("Bytes of the file."),
    hash: Type.String({
      ...{ minLength: 64, maxLength: 64, pattern: "^[0-9a-f]{64}$" },
      description: "Opaque; equal hashes of one vault mean equal content.",
      examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    }),
  },
  { title: "StoredFile" },
);

export const etag = { ETag: text(70, { description: "The hash.", examples: ['"9f86d0…"'] }) };
