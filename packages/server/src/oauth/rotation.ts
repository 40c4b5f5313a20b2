/**
 * Refresh tokens rotate like the refresh cookie. The first one of a grant is random. Every other one is a keyed hash of the
 * one before it, so the same successor can be issued again and no token is stored.
 *
 * States of a refresh token: *current* → (first use) *previous*: for 30 seconds, and while its successor is unused, a use
 * gets that same successor and a new access token → *old*: a use ends the grant.
 *
 * A use is checked under the grant's lock, so the order is the same for all processes.
 */

import { repeatWindowMs } from "../identity/index.ts";
import type { LibraryContext } from "./library-context.ts";
import type { Artifact } from "./store.ts";

/** The successor of a token; only the service can compute it. */
export function successorOf({ ctx }: LibraryContext, token: string): string {
  return ctx.secrets.digest("oauth-successor", token).toString("base64url");
}

/** Whether a used token was used so recently that it may be repeated; its successor must be unused. */
export function isRecent({ tx }: LibraryContext, { kind, consumedAt }: Artifact): boolean {
  if (kind !== "RefreshToken" || consumedAt === null) return false;
  return tx.now.getTime() - consumedAt.getTime() <= repeatWindowMs;
}

/** Records the allowed repetition of the previous token. */
export async function auditRepeat({ tx, found: { grant } }: LibraryContext): Promise<void> {
  if (grant === undefined) throw new Error("a refresh token was used and no grant was looked for");
  const { id, accountId, memberId, clientId } = grant;
  const targets = [
    { type: "session", id },
    { type: "person", id: memberId },
    { type: "client", id: clientId },
  ];
  await tx.within({ kind: "account", accountId }, async (inner) => {
    inner.audit({ action: "oauth.refresh_repeated", targets });
  });
}
