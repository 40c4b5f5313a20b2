/** What an access token says about its holder. The service made it; the agent only reads the ids it must sign. */

import { CommandFailure } from "../failure.ts";

export interface TokenClaims {
  readonly accountId: string;
  readonly sessionId: string | null;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

export function claimsOf(token: string): TokenClaims {
  const [, payload = ""] = token.split(".");
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
  } catch (error) {
    throw new CommandFailure("the service sent a token that is no JWT", { cause: error });
  }
  const claims = typeof read === "object" && read !== null ? (read as Readonly<Record<string, unknown>>) : {};
  const { acct, sid, client_id: clientId, scope } = claims;
  if (typeof acct !== "string" || typeof clientId !== "string")
    throw new CommandFailure("the token of the service names no account");
  return {
    accountId: acct,
    sessionId: typeof sid === "string" ? sid : null,
    clientId,
    scopes: typeof scope === "string" ? scope.split(" ") : [],
  };
}
