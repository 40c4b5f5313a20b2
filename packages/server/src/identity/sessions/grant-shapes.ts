/** What a grant looks like from outside, and what its operations share. */

import { oauthScopes } from "../../declarations.ts";
import { closed, nullable, oneOf, type Static, Type, text, timestamp, uuid } from "../../kernel/http/schema.ts";
import type { OauthScope } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import type { GrantRow } from "./store.ts";

export const grantId = closed({ id: uuid("Id of the grant.") });
export const grantTag = "oauth-grants";

const scopeNames = Object.keys(oauthScopes) as OauthScope[];

export const grantSchema = closed(
  {
    id: uuid("Id of the grant. If the program is an agent, also the id of the agent."),
    client_id: uuid("The program's `client_id`; all agents share one."),
    client_name: text(200, { description: "Name of the program.", examples: ["Defter"] }),
    kind: oneOf(["api", "agent"], "The kind of its tokens."),
    scopes: Type.Array(oneOf(scopeNames, "A scope."), { maxItems: scopeNames.length }),
    member_id: uuid("The member responsible for it: the member who granted it, or the owner who last reviewed it."),
    created_at: timestamp("When it was granted."),
    last_used_at: timestamp("When the program last got a token."),
    review_since: nullable(
      timestamp(
        "Set while the grant waits for a review by an owner. Until the review the program can only write snapshots.",
      ),
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
