/**
 * The reset of a lost second factor. Staff request it with a reason. It takes effect after 24 hours, or as soon as an owner
 * confirms it; an owner can also cancel it. Then all sessions of the person end, and the person gets a mail with a link to
 * set up a new authenticator. The password stays. The old factor stays until the link is used.
 * The person and every owner get a mail about each step.
 *
 * States: *waiting* → *done* (an owner confirms, or 24 hours pass) | *canceled* (by an owner).
 */

import { findPerson, mailAboutChange } from "../../accounts/index.ts";
import type { Random } from "../../kernel/clock.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import { retryAfter, task } from "../../kernel/jobs/task.ts";
import type { Actor } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { Transactions, Tx } from "../../kernel/tx.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { makeLink } from "../enrolment/index.ts";
import { endAccessOf } from "../sessions/index.ts";
import { decideReset, insertReset, type ResetDecision, type ResetRequest } from "./store.ts";

/** The contract's 24 hours: time for an owner to notice and to cancel. */
const resetDelayMs = 24 * 60 * 60 * 1000;

type MailCtx = Pick<Ctx, "random" | "secrets" | "publicUrl">;

/** Stores the request and mails the person and the owners; with row access to the account. `state_conflict` when one is waiting. */
export async function beginSecondFactorReset(tx: Tx, ctx: MailCtx, request: ResetRequest) {
  const { accountId, personId } = request;
  const person = await findPerson(tx, accountId, personId);
  if (person === undefined || person.state !== "active") throw new Problem("not_found");
  const id = ctx.random.uuid();
  const effectiveAt = new Date(tx.now.getTime() + resetDelayMs);
  const inserted = await insertReset(tx, { ...request, id, effectiveAt });
  if (!inserted) throw new Problem("state_conflict");
  const by = { kind: "staff", id: request.staffId } as const;
  const change = { accountId, of: { person: personId }, by, detail: effectiveAt.toISOString() };
  await mailAboutChange(tx, ctx, { what: "second_factor_reset_asked", ...change });
  await tx.job({ task: applySecondFactorReset, payload: { account_id: accountId, reset_id: id }, runAt: effectiveAt });
  const targets = [{ type: "person", id: personId }];
  tx.audit({ action: "second_factor.reset_requested", targets, metadata: { reset_id: id, reason: request.reason } });
  return { id, effectiveAt };
}

/** Carries a waiting reset out, or cancels it; with row access to the account. False when nothing waits under this id. */
export async function completeSecondFactorReset(tx: Tx, ctx: MailCtx, decision: ResetDecision): Promise<boolean> {
  const reset = await decideReset(tx, decision);
  if (reset === undefined) return false;
  const targets = [{ type: "person", id: reset.person_id }];
  tx.audit({ action: `second_factor.reset_${decision.outcome}`, targets, metadata: { reset_id: decision.id } });
  const person = await findPerson(tx, reset.account_id, reset.person_id);
  if (person === undefined || person.state !== "active") return true;
  const by: Actor = decision.decidedBy === null ? { kind: "system" } : { kind: "member", id: decision.decidedBy };
  const change = { accountId: reset.account_id, of: { person: person.id }, by };
  if (decision.outcome === "canceled") {
    await mailAboutChange(tx, ctx, { what: "second_factor_reset_canceled", ...change });
    return true;
  }
  await endAccessOf(tx, ctx, person, "second_factor_changed");
  const { id: personId, account_id: accountId, email: to, language } = person;
  const link = await makeLink(tx, ctx, { purpose: "second_factor_reset", accountId, personId });
  const payload = mailMessage({
    id: ctx.random.uuid(),
    to,
    language,
    template: "second_factor_reset",
    values: { link },
  });
  await tx.job({ task: sendMessage, payload });
  await mailAboutChange(tx, ctx, { what: "second_factor_reset_done", ...change, personHasMail: true });
  return true;
}

interface ResetPayload {
  readonly account_id: string;
  readonly reset_id: string;
}

interface ResetPorts {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly secrets: Secrets;
  readonly publicUrl: () => string;
}

/** The end of the 24 hours. Finds nothing to do when an owner was faster. */
export const applySecondFactorReset = task<ResetPayload, ResetPorts>("identity.apply_second_factor_reset", {
  parse: (payload) => {
    const { account_id, reset_id } = payload as Partial<ResetPayload>;
    if (typeof account_id !== "string" || typeof reset_id !== "string") throw new TypeError("no reset");
    return { account_id, reset_id };
  },
  retry: retryAfter(60_000, 600_000, 3_600_000),
  run: async ({ account_id: accountId, reset_id: id }, { ports, signal }) => {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const ctx = { random: ports.random, secrets: ports.secrets, publicUrl: ports.publicUrl() };
    await ports.transactions.run(context, { kind: "account", accountId }, (tx) =>
      completeSecondFactorReset(tx, ctx, { id, outcome: "done", decidedBy: null }),
    );
  },
});
