import { closed, oneOf } from "../kernel/http/schema.ts";

export const health = closed(
  { status: oneOf(["ok"], "Always `ok`; anything else is a problem.") },
  { title: "Health", examples: [{ status: "ok" }] },
);
