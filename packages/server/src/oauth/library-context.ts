/**
 * The *library context* holds what belongs to one request inside the library. The library's configuration functions and its
 * adapter need it, but the library cannot pass it to them, so it is in asynchronous local storage. One context has one
 * transaction: a code is redeemed, its successor stored and the token issued together, or not at all.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../kernel/clock.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { TokenClaims } from "../kernel/principal.ts";
import type { Language } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import type { LiveToken, NewGrant, OauthClient, OauthPorts } from "./ports.ts";

export interface LibraryContext {
  readonly ctx: Ctx;
  readonly tx: Tx;
  readonly ports: OauthPorts;
  /** The clock that the library uses. It cannot be replaced, so times are converted; see `adapter.ts`. */
  readonly libraryClock: Clock;
  readonly language: Language;
  readonly address: string;
  /** The user code in the URL of a device page. */
  readonly prefilledCode?: string | undefined;
  /** The verified claims of an access token that is introspected or revoked. */
  readonly presented?: TokenClaims | undefined;
  /** Why a grant ends, if it does: its client revoked it, or a secret was used twice. */
  readonly endReason: "revoked" | "reused";
  /** Whether this is a refresh. Then a token that was just used may be repeated. */
  readonly isRefresh: boolean;
  /** Data that is found while the library handles the request. */
  readonly found: {
    /** The client in the request, after the library has looked it up. */
    client?: OauthClient;
    /** The grant that the library has validated. */
    grant?: NewGrant;
    /** The rotation of the presented refresh token. */
    rotation?: {
      readonly successor: string;
      /** Whether the successor was made for this request or for an earlier one with the same token. */
      readonly isRepeat: boolean;
    };
    /** The state of the presented token. */
    token?: LiveToken;
    /** Whether the user code exists, after it was looked up. */
    userCodeKnown?: boolean;
    /** The error of our own code, thrown when the library has finished. */
    fault?: unknown;
  };
}

const contexts = new AsyncLocalStorage<LibraryContext>();

export function runInLibraryContext<T>(context: LibraryContext, work: () => Promise<T>): Promise<T> {
  return contexts.run(context, work);
}

export function currentLibraryContext(): LibraryContext {
  const context = contexts.getStore();
  if (context === undefined) throw new Error("the OAuth library was called outside a library context");
  return context;
}
