/** Sessions and access tokens as the API shows them. */

import { cookieHeader, type NewCookie } from "../../kernel/http/cookies.ts";
import { closed, nullable, oneOf, type Static, Type, timestamp, uuid } from "../../kernel/http/schema.ts";
import type { SessionRow } from "./store.ts";

/** The contract's answer and its type. */
export const accessTokenReply = closed(
  {
    access_token: Type.String({
      maxLength: 4096,
      pattern: "^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
      description: "JWT. Keep it in memory.",
      examples: ["eyJhbGciOiJFUzI1NiJ9.e30.c2ln"],
    }),
    token_type: oneOf(["Bearer"], "The scheme of the `Authorization` header."),
    expires_in: Type.Integer({ format: "int32", minimum: 1, maximum: 3600, description: "Seconds.", examples: [900] }),
  },
  { title: "AccessToken" },
);

export const setCookieHeader = {
  "Set-Cookie": Type.String({
    maxLength: 1024,
    pattern: "^__Host-(refresh|device)=",
    description: "`__Host-refresh` and `__Host-device`: HttpOnly, Secure, SameSite=Strict, Path=/.",
  }),
};

export function cookies(...set: readonly NewCookie[]): { "Set-Cookie": string[] } {
  return { "Set-Cookie": set.map(cookieHeader) };
}

export const sessionSchema = closed(
  {
    id: uuid("Id of the session."),
    kind: oneOf(["api", "dashboard", "agent"], "The kind of its tokens."),
    client_id: nullable(uuid("The OAuth client of the session.")),
    current: Type.Boolean({ description: "Whether this is the session of the request." }),
    created_at: timestamp("When the account was created."),
    last_used_at: timestamp("When it was last refreshed."),
    expires_at: timestamp("When it expires if it is not used again."),
  },
  { title: "Session" },
);

/** What does not depend on who asks; its hash is the session's ETag. */
export function sessionFacts(row: SessionRow) {
  const ends = row.expires_at !== null && row.expires_at < row.idle_expires_at ? row.expires_at : row.idle_expires_at;
  return {
    id: row.id,
    kind: row.kind,
    client_id: row.client_id,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    expires_at: ends.toISOString(),
  };
}

export function sessionShape(row: SessionRow, currentId: string): Static<typeof sessionSchema> {
  return { ...sessionFacts(row), current: row.id === currentId };
}
