import { closed, oneOf } from "../kernel/http/schema.ts";

export const health = closed(
  { status: oneOf(["ok"], "Always `ok`; otherwise the answer is a problem.") },
  { title: "Health", examples: [{ status: "ok" }] },
);
