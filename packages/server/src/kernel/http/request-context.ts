/**
 * What is known about a request after its first stages (`receive-request.ts`). Every answer of the application has one, also
 * at an address without an endpoint.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { LimitStatus } from "../limits/limiter.ts";
import type { LimitCounter } from "../limits/store.ts";
import type { Actor, Principal } from "../principal.ts";
import type { Language, Problem } from "../problems.ts";
import type { Endpoint } from "./endpoint.ts";

export interface RequestContext {
  /** Ours: a UUID that no other request has. */
  readonly id: string;
  /** The client's own when it sent one of our form, else `id`. */
  readonly requestId: string;
  readonly language: Language;
  readonly address: string;
  readonly addressKey: string;
  readonly startedAtMs: number;
  /** The endpoint of the address; null where there is none. */
  readonly endpoint: Endpoint | null;
  readonly principal: Principal;
  /** Who acts, where `handle` found out more than the principal says. */
  actor?: Actor;
  /** The state of each policy that applied so far. */
  limitStatuses: readonly LimitStatus[];
  /** Counters that allowed the request and are counted later, together with those whose subject is in the body. */
  uncounted: readonly LimitCounter[];
  readonly errorForm: "problem" | "oauth";
  /** The first refusal, in the order of `refusals.ts`; null when the request may go on. */
  readonly refusal: Problem | null;
}

/** The head of a request, in either version of HTTP. */
export interface RequestHead {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  readonly peer: string | undefined;
}

/** Node joins most repeated headers by commas. The few that it gives as a list are joined here. */
export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}
