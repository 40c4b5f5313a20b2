/**
 * Failed sign-ins in the audit trail of the account that they were aimed at.
 *
 * A refused request only enqueues a job, also for an unknown address; the job writes the record. So the answer and its time
 * do not show whether the address exists. The request does not wait for the lock on the account's audit chain and does not
 * hold it. For an unknown address the job writes nothing.
 *
 * Attackers cannot fill the chain: the lockout allows a hundred failures a day per address and session, and refused attempts
 * are not recorded. Programs are not locked out, because the nightly backup must continue. A separate counter limits their
 * records to a hundred a day.
 */

import type { AuditOrigin } from "../../kernel/audit.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import { retryAfter, task } from "../../kernel/jobs/task.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { Transactions, Tx } from "../../kernel/tx.ts";
import { countFailure } from "../factors/index.ts";
import { isAuditRecordWritten } from "./store.ts";

/** The credential that was wrong. */
export type WrongPart = "password" | "code";

export interface SignInFailure {
  /** Null for an unknown address, and where nothing was wrong and only the work must be the same. */
  readonly person: { readonly id: string; readonly account_id: string | null } | null;
  readonly wrong: WrongPart;
  /** This failure began a wait. */
  readonly lockedNow: boolean;
}

/** Call it for every refusal, also for unknown addresses. */
export async function recordSignInFailure(
  tx: Tx,
  { random }: Pick<Ctx, "random">,
  { person, wrong, lockedNow }: SignInFailure,
): Promise<void> {
  const whose = { account_id: person?.account_id ?? null, person_id: person?.id ?? null };
  const what = { record_id: random.uuid(), wrong, locked_now: lockedNow, at: tx.now.toISOString() };
  await tx.job({ task: writeSignInFailure, payload: { ...whose, ...what, context: tx.auditOrigin } });
}

interface FailurePayload {
  readonly account_id: string | null;
  readonly person_id: string | null;
  readonly record_id: string;
  readonly wrong: string;
  readonly locked_now: boolean;
  readonly at: string;
  /** Of the request, as its own records would carry it. */
  readonly context: AuditOrigin;
}

export const writeSignInFailure = task<FailurePayload, { readonly transactions: Transactions }>(
  "identity.write_sign_in_failure",
  {
    parse: (payload) => {
      const { record_id, wrong, at, context } = payload as Partial<FailurePayload>;
      if ([record_id, wrong, at].some((text) => typeof text !== "string") || typeof context !== "object") {
        throw new TypeError("no failure");
      }
      return payload as FailurePayload;
    },
    retry: retryAfter(1_000, 10_000, 60_000, 600_000, 3_600_000),
    run: async ({ account_id: accountId, person_id: id, ...failure }, { ports, signal }) => {
      if (id === null) return;
      const scope = accountId === null ? ({ kind: "platform" } as const) : ({ kind: "account", accountId } as const);
      const who = { actor: { kind: "anonymous" }, context: failure.context, signal } as const;
      await ports.transactions.run(who, scope, async (tx) => {
        // A job may run twice; its record is written once.
        if (await isAuditRecordWritten(tx, failure.record_id)) return;
        const entry = { targets: [{ type: "person", id }], outcome: "failure" } as const;
        const metadata = { wrong: failure.wrong, at: failure.at };
        tx.audit({ action: "sign_in.failed", ...entry, metadata, id: failure.record_id });
        if (failure.locked_now) tx.audit({ action: "sign_in.locked", ...entry });
      });
    },
  },
);

/** Records a failed authentication of a program; with row access to the account. */
export async function recordClientFailure(tx: Tx, secrets: Secrets, clientId: string): Promise<void> {
  if (!(await countFailure(tx, secrets.digest("attempts", JSON.stringify({ client: clientId }))))) return;
  const targets = [{ type: "oauth_client", id: clientId }];
  tx.audit({ action: "oauth_client.authentication_failed", targets, outcome: "failure" });
}
