/**
 * Programs that a person is responsible for: OAuth clients that they created, and *grants* (sessions of a client that they
 * allowed). Programs belong to the account, so they continue when the person leaves.
 *
 * States: *active* → *in review* (the person was removed or demoted, or a password or factor was replaced; the program may
 * only write snapshots) → active again (an owner reviewed it and is responsible now) or ended. A grant without
 * `snapshots:write` could do nothing in review, so it ends at once.
 */

import { lockOwners, type PersonRow, withholdClients } from "../../accounts/index.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import type { Tx } from "../../kernel/tx.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { type EndReason, revokeSessionsOf, withholdGrants } from "./store.ts";

/** The reasons that put a person's clients in review too, not only their grants; see the contract of the API. */
const concernsClients: ReadonlySet<EndReason> = new Set(["removed", "demoted", "password_reset"]);

/** Ends a person's sessions except `keep`, and puts their programs in review. */
export async function endAccessOf(
  tx: Tx,
  ctx: Pick<Ctx, "random">,
  person: PersonRow,
  reason: EndReason,
  keep: string | null = null,
): Promise<void> {
  await revokeSessionsOf(tx, person.id, reason, keep);
  await withholdPrograms(tx, ctx, person, reason);
}

/** Puts a person's programs in review, and asks the owners to review them. */
export async function withholdPrograms(
  tx: Tx,
  ctx: Pick<Ctx, "random">,
  person: PersonRow,
  reason: EndReason,
): Promise<void> {
  const { account_id: accountId } = person;
  // Staff make and allow no programs.
  if (accountId === null) return;
  const clients = concernsClients.has(reason) ? await withholdClients(tx, accountId, person.id) : [];
  const grants = await withholdGrants(tx, accountId, person.id, reason);
  if (clients.length + grants.length === 0) return;
  const targets = [
    ...clients.map(({ id }) => ({ type: "oauth_client", id })),
    ...grants.map(({ id }) => ({ type: "session", id })),
  ];
  tx.audit({ action: "programs.review_asked", targets: targets.slice(0, maxTargets), metadata: { reason } });
  const values = { member: person.full_name, count: String(targets.length) };
  for (const { id, email: to, language } of await lockOwners(tx, accountId)) {
    if (id === person.id && reason === "removed") continue;
    const mail = mailMessage({ id: ctx.random.uuid(), to, language, template: "programs_in_review", values });
    await tx.job({ task: sendMessage, payload: mail });
  }
}

/** An audit record names this many at most; the count in the mail is exact. */
const maxTargets = 100;
