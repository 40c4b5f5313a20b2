/**
 * Access tokens whose signature was checked, kept until they expire. A token is found by the hash of all its characters, so a
 * token with one changed character is another token, and its signature is checked. Tokens themselves are not kept.
 */

import { hash } from "node:crypto";
import type { TokenClaims } from "../../kernel/principal.ts";

export interface CheckedToken {
  readonly claims: TokenClaims;
  /** The key that verified it. It is refused when this key is withdrawn. */
  readonly kid: string;
}

/** About 5 MB. A token lives 15 minutes; one that is dropped earlier is checked again. */
const maxTokens = 5_000;

export class CheckedTokens {
  readonly #tokens = new Map<string, CheckedToken>();

  find(token: string): CheckedToken | undefined {
    return this.#tokens.get(keyOf(token));
  }

  add(token: string, checked: CheckedToken): void {
    this.#tokens.set(keyOf(token), checked);
    if (this.#tokens.size <= maxTokens) return;
    // The first of the map was added first, so it expires soonest.
    for (const oldest of this.#tokens.keys().take(1)) this.#tokens.delete(oldest);
  }

  delete(token: string): void {
    this.#tokens.delete(keyOf(token));
  }
}

function keyOf(token: string): string {
  return hash("sha256", token, "base64url");
}
