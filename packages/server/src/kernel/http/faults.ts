/**
 * Faults on demand: in profile `sandbox` a request of staff can ask by `X-Emanet-Fault` to fail in a chosen way, so that
 * clients and tests can try rare failures. Other profiles and other people do not have them.
 */

import type { IncomingHttpHeaders } from "node:http";
import { Problem } from "../problems.ts";
import type { HttpKernel } from "./kernel.ts";
import { type RequestContext, single } from "./request-context.ts";

/** `internal_error` and `unavailable` before anything is done; `lost_answer` after everything was done and committed. */
export const faultNames = ["internal_error", "unavailable", "lost_answer"] as const;
export type Fault = (typeof faultNames)[number];

/** The fault that a request asks for and may have. */
export function wantedFault(kernel: HttpKernel, context: RequestContext, headers: IncomingHttpHeaders): Fault | null {
  const asked = single(headers["x-emanet-fault"]);
  if (asked === undefined || kernel.settings.profile !== "sandbox" || context.principal.kind !== "staff") return null;
  const fault = faultNames.find((name) => name === asked);
  if (fault === undefined) throw new Problem("invalid_header");
  return fault;
}

/** Fails if the fault belongs to this moment. */
export function failAt(moment: "before" | "after", fault: Fault | null): void {
  const retry = { headers: { "Retry-After": "1" } };
  if (moment === "after" && fault === "lost_answer") throw new Problem("unavailable", retry);
  if (moment === "before" && fault === "unavailable") throw new Problem("unavailable", retry);
  if (moment === "before" && fault === "internal_error") throw new Error("a fault that was asked for");
}
