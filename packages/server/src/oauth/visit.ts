/**
 * A *visit* is one request inside the library: what its configuration functions and its adapter need and have no way
 * to be given. The library calls them deep inside its own middleware, so the visit travels along the asynchronous
 * calls. Everything that happens during a visit is one transaction: a code is redeemed, its successor stored and the
 * token issued together, or not at all.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../kernel/clock.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { TokenClaims } from "../kernel/principal.ts";
import type { Language } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import type { LiveToken, NewGrant, OauthClient, OauthPorts } from "./ports.ts";

export interface Visit {
  readonly ctx: Ctx;
  readonly tx: Tx;
  readonly ports: OauthPorts;
  /** The library's own clock. It cannot be told another, so times are translated; see `adapter.ts`. */
  readonly libraryClock: Clock;
  readonly language: Language;
  readonly address: string;
  /** The user code that the address of a device page carries. */
  readonly prefilledCode?: string | undefined;
  /** The claims of an access token that is introspected or revoked, its signature and times found right. */
  readonly presented?: TokenClaims | undefined;
  /** Why a grant ends, if it does: its client asked for it, or a secret was used twice. */
  readonly endReason: "revoked" | "reused";
  /** Whether a refresh token is traded: one that was just spent may then be shown again. */
  readonly isRefresh: boolean;
  /** What was learnt on the way. */
  readonly found: {
    /** The client that the request names, once the library has looked for it. */
    client?: OauthClient;
    /** The grant that the library has validated. */
    grant?: NewGrant;
    /** The rotation of the refresh token that was presented. */
    rotation?: {
      readonly successor: string;
      /** Whether the successor was made for this request, or for an earlier one with the same token. */
      readonly isRepeat: boolean;
    };
    /** What the presented token is worth. */
    token?: LiveToken;
    /** A user code was looked for: whether there is such a one. */
    userCodeKnown?: boolean;
    /** What went wrong on our side, to be thrown when the library has finished. */
    fault?: unknown;
  };
}

const visits = new AsyncLocalStorage<Visit>();

export function during<T>(visit: Visit, work: () => Promise<T>): Promise<T> {
  return visits.run(visit, work);
}

export function currentVisit(): Visit {
  const visit = visits.getStore();
  if (visit === undefined) throw new Error("the OAuth library was called outside a visit");
  return visit;
}
