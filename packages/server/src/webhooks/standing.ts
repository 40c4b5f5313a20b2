/** Whether a webhook may send: whether those in whose name it sends could still make it. Pure decisions. */

import type { MemberRole } from "../kernel/principal.ts";
import type { ClaimedWebhook } from "./delivery-store.ts";
import { webhookScopes } from "./scopes.ts";

/** `send`, `wait` while the account may not use webhooks, or `disable` because its creator lost the right. */
export type Standing = "send" | "wait" | "disable";

const scope = "webhooks:write";
const roles: readonly MemberRole[] = webhookScopes[scope].roles;

export function standingOf(webhook: ClaimedWebhook): Standing {
  if (webhook.early_access || webhook.account_state === "closed") return "wait";
  const isMemberRight = webhook.member_id === null || isRightMember(webhook);
  const isClientRight = webhook.client_id === null || isRightClient(webhook);
  return isMemberRight && isClientRight ? "send" : "disable";
}

function isRightMember({ member_state: state, member_role: role }: ClaimedWebhook): boolean {
  return state === "active" && role !== null && roles.includes(role);
}

function isRightClient(webhook: ClaimedWebhook): boolean {
  const { client_revoked: isRevoked, client_scopes: scopes, client_role: role, client_vault_ids: vaults } = webhook;
  if (isRevoked !== false || !scopes?.includes(scope) || role === null || !roles.includes(role)) return false;
  return vaults === null || (webhook.vault_ids?.every((id) => vaults.includes(id)) ?? false);
}
