/** What the operations of webhooks share: who may call them, and which webhooks a caller sees. */

import type { Ctx } from "../kernel/http/endpoint.ts";
import { invalidField } from "../kernel/http/validate.ts";
import type { Principal } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { allowedVaults } from "../vaults/index.ts";
import { HostError } from "./resolve-host.ts";
import { findWebhook, lockWebhook, type WebhookRow } from "./store.ts";
import { parseTarget } from "./target-url.ts";

export const reads = { kind: "account", scope: "webhooks:read" } as const;
export const writes = { kind: "account", scope: "webhooks:write" } as const;
export const shared = { tag: "webhooks", withinVaults: true } as const;

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** A client that is held to vaults sees the webhooks that send events of these alone. */
export function isVisible(principal: AccountPrincipal, webhook: Pick<WebhookRow, "vault_ids">): boolean {
  const vaults = allowedVaults(principal);
  return vaults === null || (webhook.vault_ids?.every((id) => vaults.includes(id)) ?? false);
}

/** The webhook, or `not_found` for one that the caller does not see. */
export async function requireWebhook(tx: ReadTx, principal: AccountPrincipal, id: string): Promise<WebhookRow> {
  return requireVisible(principal, await findWebhook(tx, principal.accountId, id));
}

/** The same, and nobody else changes it until the transaction ends. */
export async function requireLockedWebhook(tx: Tx, principal: AccountPrincipal, id: string): Promise<WebhookRow> {
  return requireVisible(principal, await lockWebhook(tx, principal.accountId, id));
}

function requireVisible(principal: AccountPrincipal, row: WebhookRow | undefined): WebhookRow {
  if (row === undefined || !isVisible(principal, row)) throw new Problem("not_found");
  return row;
}

/** In whose name a webhook sends from now on. */
export function senderOf(principal: AccountPrincipal) {
  const client_id = principal.kind === "client" ? principal.clientId : null;
  return { member_id: principal.memberId, client_id, vault_ids: allowedVaults(principal) };
}

/**
 * The address, normalized, or `webhook_url_blocked`. A name that DNS does not know is accepted: it is looked at again before
 * every connection, and a receiver may be set up after its webhook.
 */
export async function requireTarget(ctx: Pick<Ctx, "services">, url: string, language: Language): Promise<string> {
  const { allowed, resolver } = ctx.services.webhooks;
  const target = parseTarget(url, allowed);
  const isBlocked = (error: unknown) => error instanceof HostError && error.reason === "blocked";
  const isOpen =
    target !== null &&
    (await resolver.resolve(target.host).then(
      () => true,
      (error: unknown) => !isBlocked(error),
    ));
  if (isOpen) return target.href;
  throw new Problem("webhook_url_blocked", { errors: [invalidField("/url", "not_allowed", language)] });
}

export const targetOf = (id: string) => [{ type: "webhook", id }];
