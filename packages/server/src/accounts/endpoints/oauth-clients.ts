/** `/v1/oauth-clients`: the account's machine clients. Secrets are shown once, and replaced with an overlap. */

import { pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { actorOf, scopeOf } from "../../kernel/principal.ts";
import { type FieldError, Problem } from "../../kernel/problems.ts";
import {
  addSecret,
  type ClientRow,
  countLiveSecrets,
  endSecrets,
  findClient,
  insertClient,
  listClients,
  lockClient,
  maxLiveSecrets,
  revokeClient,
  updateClient,
} from "../clients.ts";
import { clientFields, clientSchema, clientShape, publicKeySet } from "../shapes.ts";

const shared = { tag: "oauth-clients", package: "api" } as const;
const reads = { kind: "account", scope: "account:read", roles: ["owner", "manager"] } as const;
const writes = { kind: "account", scope: "account:write" } as const;
const clientId = closed({ id: uuid("The `client_id`.") });
const secretText = Type.String({
  maxLength: 60,
  pattern: "^ems_[A-Za-z0-9_-]{43}$",
  description: "Shown this once. Keep it where only the client can read it.",
});

/** More than any office has programs; each has its own secrets and its own line in the list. */
const maxClients = 100;

/** A week to bring the new secret to every machine. */
const maxOverlapSeconds = 7 * 24 * 60 * 60;
const defaultOverlapSeconds = 24 * 60 * 60;

export const listOauthClients = endpoint(
  {
    ...shared,
    id: "oauth_clients.list",
    method: "GET",
    path: "/v1/oauth-clients",
    summary: "List the machine clients",
    description: "Newest first.",
    access: reads,
    query: closed({ ...pageQuery }),
    replies: { 200: { description: "A page.", body: pageOf(clientSchema, "OauthClientPage") } },
  },
  async (ctx, { principal, query }) => {
    const binding = { operation: "oauth_clients.list", filters: [principal.accountId] };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.tx(scopeOf(principal), (tx) => listClients(tx, principal.accountId, page));
    const position = (row: ClientRow) => ({ key: row.created_at.toISOString(), id: row.id });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, { position, item: clientShape }) };
  },
);

const newClient = closed(
  {
    name: clientFields.name,
    scopes: clientFields.scopes,
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
    summary: "Make a machine client",
    description:
      "For unattended programs (`client_credentials`, the default) and for software that acts for your members (`authorization_code`). The secret is shown this once. Asks for a fresh second factor.",
    access: writes,
    stepUp: true,
    body: newClient,
    replies: {
      201: {
        description: "The client, with its secret where it has one.",
        body: closed({ client: clientSchema, secret: Type.Optional(secretText) }, { title: "OauthClientCreated" }),
      },
    },
    errors: ["state_conflict", "not_found"],
  },
  async (ctx, { principal, body, language }) => {
    const { accountId } = principal;
    const authMethod = body.auth_method ?? "client_secret";
    const grantTypes = body.grant_types ?? ["client_credentials"];
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
    const made = await ctx.tx(scopeOf(principal), async (tx) => {
      const all = await listClients(tx, accountId, { after: null, take: maxClients });
      if (all.length >= maxClients) throw new Problem("state_conflict");
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
        createdBy: actorId(principal),
      });
      const secret = authMethod === "client_secret" ? await addSecret(tx, ctx, { id, accountId }) : undefined;
      const metadata = { scopes: body.scopes.join(" ") };
      tx.audit({ action: "oauth_client.created", targets: [{ type: "oauth_client", id }], metadata });
      return { client: await requireClient(findClient(tx, accountId, id)), secret };
    });
    const secret = made.secret === undefined ? {} : { secret: made.secret };
    return { status: 201, body: { client: clientShape(made.client), ...secret } };
  },
);

export const getOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.get",
    method: "GET",
    path: "/v1/oauth-clients/{id}",
    summary: "Read a machine client",
    description: "Without its secret, which is shown once when it is made.",
    access: reads,
    params: clientId,
    replies: { 200: { description: "The client.", body: clientSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.tx(scopeOf(principal), (tx) => requireClient(findClient(tx, principal.accountId, params.id)));
    return { status: 200, body: clientShape(row) };
  },
);

export const updateOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.update",
    method: "PATCH",
    path: "/v1/oauth-clients/{id}",
    summary: "Change a machine client",
    description: "Name, scopes and vaults. What is taken away counts for tokens that are out already.",
    access: writes,
    stepUp: true,
    params: clientId,
    body: closed(
      {
        name: Type.Optional(clientFields.name),
        scopes: Type.Optional(clientFields.scopes),
        vault_ids: Type.Optional(clientFields.vault_ids),
      },
      { title: "OauthClientChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "The client.", body: clientSchema } },
  },
  async (ctx, { principal, params, body, requireMatch }) => {
    const { accountId } = principal;
    const row = await ctx.tx(scopeOf(principal), async (tx) => {
      const before = await requireClient(lockClient(tx, accountId, params.id));
      requireMatch(clientShape(before));
      await updateClient(tx, accountId, params.id, body);
      const metadata = { fields: Object.keys(body).sort().join(" ") };
      tx.audit({ action: "oauth_client.changed", targets: [{ type: "oauth_client", id: params.id }], metadata });
      return requireClient(findClient(tx, accountId, params.id));
    });
    return { status: 200, body: clientShape(row) };
  },
);

export const rotateOauthClientSecret = endpoint(
  {
    ...shared,
    id: "oauth_clients.rotate_secret",
    method: "POST",
    path: "/v1/oauth-clients/{id}/rotate-secret",
    summary: "Replace a client's secret",
    description:
      "Makes a new secret and shows it this once. The old one stays valid for `overlap_s` (a day), so that no program has to stop; 0 ends it at once.",
    access: writes,
    stepUp: true,
    params: clientId,
    body: closed(
      {
        overlap_s: Type.Optional(
          Type.Integer({ format: "int32", minimum: 0, maximum: maxOverlapSeconds, description: "Seconds (86400)." }),
        ),
      },
      { title: "SecretRotation" },
    ),
    replies: {
      200: {
        description: "The new secret.",
        body: closed({ client_id: uuid("The client."), secret: secretText }, { title: "RotatedSecret" }),
      },
    },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const { accountId } = principal;
    const overlap = body.overlap_s ?? defaultOverlapSeconds;
    const secret = await ctx.tx(scopeOf(principal), async (tx) => {
      const client = await requireClient(lockClient(tx, accountId, params.id));
      if (client.auth_method !== "client_secret") throw new Problem("state_conflict");
      await endSecrets(tx, client.id, new Date(tx.now.getTime() + overlap * 1000));
      if ((await countLiveSecrets(tx, client.id)) >= maxLiveSecrets) throw new Problem("state_conflict");
      const metadata = { overlap_s: overlap };
      tx.audit({ action: "oauth_client.secret_rotated", targets: [{ type: "oauth_client", id: client.id }], metadata });
      return addSecret(tx, ctx, { id: client.id, accountId });
    });
    return { status: 200, body: { client_id: params.id, secret } };
  },
);

export const deleteOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.delete",
    method: "DELETE",
    path: "/v1/oauth-clients/{id}",
    summary: "Remove a machine client",
    description: "Its tokens are refused from now on. Also while the account is suspended.",
    access: writes,
    stepUp: true,
    whileSuspended: true,
    params: clientId,
    ifMatch: "optional",
    replies: { 204: { description: "Removed.", empty: true } },
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { accountId } = principal;
    await ctx.tx(scopeOf(principal), async (tx) => {
      requireMatch(clientShape(await requireClient(lockClient(tx, accountId, params.id))));
      await revokeClient(tx, accountId, params.id);
      tx.audit({ action: "oauth_client.removed", targets: [{ type: "oauth_client", id: params.id }] });
    });
    return { status: 204 };
  },
);

async function requireClient(found: Promise<ClientRow | undefined>): Promise<ClientRow> {
  const row = await found;
  if (row === undefined) throw new Problem("not_found");
  return row;
}

function actorId(principal: Parameters<typeof actorOf>[0]): string | null {
  const actor = actorOf(principal);
  return "id" in actor ? actor.id : null;
}
