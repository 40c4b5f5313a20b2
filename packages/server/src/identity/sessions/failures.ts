/**
 * Failed sign-ins in the audit trail of the account that they were aimed at.
 *
 * A refused request only enqueues a job, the very same one whether or not the address belongs to somebody, and the job
 * writes the record. So the answer and its time tell nothing, and a request never waits for the head of the account's
 * chain, nor holds it while others wait. An address that nobody has leaves no record.
 *
 * The chain cannot be filled by strangers: the lockout lets a hundred failures a day through for each address and
 * session, and what it refuses is not recorded. Programs are not locked out (the nightly backup has to go on), so of
 * theirs a hundred a day are recorded by a counter of their own.
 */

import type { AuditOrigin } from "../../kernel/audit.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import { retryAfter, task } from "../../kernel/jobs/task.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { Transactions, Tx } from "../../kernel/tx.ts";
import { countFailure } from "../factors/index.ts";
import { isAuditRecordWritten } from "./store.ts";

/** Which of the things that were shown was not right. */
export type WrongPart = "password" | "code";

export interface SignInFailure {
  /** Null when there is nobody, or nothing was wrong and only the work has to be the same. */
  readonly person: { readonly id: string; readonly account_id: string | null } | null;
  readonly wrong: WrongPart;
  /** This failure began a wait. */
  readonly lockedNow: boolean;
}

/** To be called for every refusal, whoever it was about. */
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

/** A program of the account did not prove that it is the one it says; with row access to the account. */
export async function recordClientFailure(tx: Tx, secrets: Secrets, clientId: string): Promise<void> {
  if (!(await countFailure(tx, secrets.digest("attempts", JSON.stringify({ client: clientId }))))) return;
  const targets = [{ type: "oauth_client", id: clientId }];
  tx.audit({ action: "oauth_client.authentication_failed", targets, outcome: "failure" });
}
