/** What a grant looks like from outside, and what its operations share. */

import { oauthScopes } from "../declarations.ts";
import { closed, nullable, oneOf, type Static, Type, text, timestamp, uuid } from "../kernel/http/schema.ts";
import type { OauthScope } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { GrantRow } from "./programs.ts";

export const grantId = closed({ id: uuid("Id of the grant.") });
export const grantTag = "oauth-grants";

const scopeNames = Object.keys(oauthScopes) as OauthScope[];

export const grantSchema = closed(
  {
    id: uuid("Id of the grant; also that of the agent, where the program is one."),
    client_id: uuid("The program's `client_id`; all agents share one."),
    client_name: text(200, { description: "What people call the program." }),
    kind: oneOf(["api", "agent"], "What its tokens count as."),
    scopes: Type.Array(oneOf(scopeNames, "What it may do."), { maxItems: scopeNames.length }),
    member_id: uuid("The member who answers for it: who allowed it, or the owner who reviewed it last."),
    created_at: timestamp("When it was allowed."),
    last_used_at: timestamp("When it last got a token."),
    review_since: nullable(
      timestamp("Since when an owner has to review it. Until then it writes snapshots and does nothing else."),
    ),
  },
  { title: "OauthGrant" },
);

export function grantShape(row: GrantRow): Static<typeof grantSchema> {
  if (row.person_id === null || row.client_id === null) throw new Error("a grant has a person and a client");
  return {
    id: row.id,
    client_id: row.client_id,
    client_name: row.client_name ?? ownClientName,
    kind: row.kind === "agent" ? "agent" : "api",
    scopes: scopeNames.filter((scope) => row.scopes === null || row.scopes.includes(scope)),
    member_id: row.person_id,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    review_since: row.review_since?.toISOString() ?? null,
  };
}

/** The only client of the service itself. */
const ownClientName = "Emanet";

export async function requireGrant(found: Promise<GrantRow | undefined>): Promise<GrantRow> {
  const row = await found;
  if (row === undefined) throw new Problem("not_found");
  return row;
}
