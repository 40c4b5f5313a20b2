/** `POST /v1/oauth-clients`: a new program. Its secret is shown once. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { actorOf, rowAccessOf } from "../../kernel/principal.ts";
import { type FieldError, Problem } from "../../kernel/problems.ts";
import { leastRole, requireClient, requireVaults, requireWithin, secretText, shared, writes } from "../client-rules.ts";
import { addSecret, findClient, insertClient, listClients } from "../client-store.ts";
import { mailAboutChange } from "../mail-about-change.ts";
import { clientFields, clientSchema, clientShape, publicKeySet } from "../shapes.ts";

/** More than any office has programs; each has its own secrets and its own line in the list. */
const maxClients = 100;

const newClient = closed(
  {
    name: clientFields.name,
    scopes: clientFields.scopes,
    role: Type.Optional(clientFields.role),
    vault_ids: Type.Optional(clientFields.vault_ids),
    redirect_uris: Type.Optional(clientFields.redirect_uris),
    grant_types: Type.Optional(clientFields.grant_types),
    auth_method: Type.Optional(clientFields.auth_method),
    jwks: Type.Optional(publicKeySet),
  },
  { title: "NewOauthClient" },
);

export const createOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.create",
    method: "POST",
    path: "/v1/oauth-clients",
    summary: "Create an OAuth client",
    description:
      "For unattended programs (`client_credentials`, the default) and for software that acts for your members (`authorization_code`). The secret is shown only in this answer. The client's role can be at most your role, and you must have all its scopes. Without `role` it gets the narrowest role that may use all its scopes. Needs a fresh second factor.",
    access: writes,
    stepUp: true,
    body: newClient,
    replies: {
      201: {
        description: "The client, with its secret if it has one.",
        body: closed({ client: clientSchema, secret: Type.Optional(secretText) }, { title: "OauthClientCreated" }),
      },
    },
    errors: ["state_conflict", "not_found", "insufficient_role"],
  },
  async (ctx, { principal, body, language }) => {
    const { accountId } = principal;
    const authMethod = body.auth_method ?? "client_secret";
    const grantTypes = body.grant_types ?? ["client_credentials"];
    const role = body.role ?? leastRole(body.scopes);
    requireWithin(principal, { role, scopes: body.scopes });
    const errors: FieldError[] = [];
    if ((authMethod === "private_key_jwt") !== (body.jwks !== undefined))
      errors.push(invalidField("/jwks", "required", language));
    if (authMethod === "none" && grantTypes.includes("client_credentials"))
      errors.push(invalidField("/auth_method", "not_allowed", language));
    const usesCode = grantTypes.includes("authorization_code");
    if (usesCode !== (body.redirect_uris ?? []).length > 0)
      errors.push(invalidField("/redirect_uris", usesCode ? "required" : "not_allowed", language));
    if (errors.length > 0) throw new Problem("validation_failed", { errors });
    const id = ctx.random.uuid();
    const made = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const all = await listClients(tx, accountId, { after: null, take: maxClients, column: "id", descending: false });
      if (all.length >= maxClients) throw new Problem("state_conflict");
      await requireVaults(tx, { accountId, language }, body.vault_ids);
      await insertClient(tx, {
        id,
        accountId,
        kind: "api",
        name: body.name,
        authMethod,
        grantTypes,
        redirectUris: body.redirect_uris ?? [],
        scopes: body.scopes,
        vaultIds: body.vault_ids ?? null,
        jwks: body.jwks ?? null,
        role,
        createdBy: principal.memberId,
      });
      const secret =
        authMethod === "client_secret"
          ? await addSecret(tx, ctx, { id, accountId, shownTo: principal.memberId })
          : undefined;
      const metadata = { scopes: body.scopes.join(" "), role };
      tx.audit({ action: "oauth_client.created", targets: [{ type: "oauth_client", id }], metadata });
      const client = await requireClient(findClient(tx, accountId, id));
      await mailAboutChange(tx, ctx, { what: "client_created", accountId, of: { client }, by: actorOf(principal) });
      return { client, secret };
    });
    const secret = made.secret === undefined ? {} : { secret: made.secret };
    return { status: 201, body: { client: clientShape(made.client), ...secret } };
  },
);
