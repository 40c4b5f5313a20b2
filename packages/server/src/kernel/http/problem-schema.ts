/** The body of every error, as the OpenAPI document describes it (RFC 9457). */

import type { ProblemCatalogue } from "../problems.ts";
import { closed, identifier, oneOf, Type, text, uuid } from "./schema.ts";

export function problemSchema(problems: ProblemCatalogue) {
  return closed(
    {
      type: Type.String({ format: "uri", maxLength: 255, description: "Page that explains the code." }),
      title: text(200, { description: "The code in words, in the language of `Accept-Language` (tr, en)." }),
      status: Type.Integer({ format: "int32", minimum: 400, maximum: 599 }),
      code: oneOf(Object.keys(problems), "The error code. A code never changes its meaning."),
      detail: text(1000, { description: "What to do about it. It never contains data of the request." }),
      instance: Type.String({
        maxLength: 45,
        pattern: "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        description: "The server's own id of the request, also when you sent a request id.",
      }),
      request_id: identifier("^[A-Za-z0-9_-]{1,64}$", "Give this id to support."),
      errors: Type.Optional(
        Type.Array(
          closed(
            {
              pointer: Type.String({
                maxLength: 500,
                pattern: "^(/.*)?$",
                description: "JSON Pointer into the body; `/query/…` and `/path/…` for parameters.",
              }),
              code: identifier("^[a-z_]+$", "The kind of error."),
              detail: text(500),
            },
            { title: "FieldError" },
          ),
          { maxItems: 20 },
        ),
      ),
      reason: Type.Optional(identifier("^[a-z_]+$", "Of an upload: why the call was refused, for programs.")),
      policy: Type.Optional(identifier("^[a-z_]+$", "`rate_limited`: the limit that was exceeded.")),
      limit: Type.Optional(Type.Integer({ format: "int32", minimum: 1, maximum: 1_000_000_000 })),
      window: Type.Optional(
        Type.Integer({ format: "int32", minimum: 1, maximum: 1_000_000_000, description: "Seconds." }),
      ),
      retry_after: Type.Optional(Type.Integer({ format: "int32", minimum: 1, maximum: 1_000_000_000 })),
      required: Type.Optional(identifier("^[a-z_]+$", "`package_required`: the smallest package that includes this.")),
      snapshot_id: Type.Optional(
        uuid("The failed snapshot that an upload left behind, where it failed after its first byte."),
      ),
      current: Type.Optional(identifier("^[a-z_]+$", "`package_required`: the account's package.")),
    },
    { title: "Problem" },
  );
}
