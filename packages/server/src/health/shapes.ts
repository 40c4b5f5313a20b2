import { closed, oneOf } from "../kernel/http/schema.ts";

export const health = closed(
  { status: oneOf(["ok"], "Always `ok`; otherwise the answer is a problem.") },
  { title: "Health", examples: [{ status: "ok" }] },
);

/** Frozen: the answer is made once for all requests. */
export const healthy = Object.freeze({ status: "ok" } as const);
