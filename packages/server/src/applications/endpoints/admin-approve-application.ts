/** `POST /v1/admin/applications/{id}/approve`: an account, its owner, and the mail to enrol with. */

import {
  findPerson,
  findPersonByEmail,
  idParam,
  insertAccount,
  insertPerson,
  reasonSchema,
  staffOperation,
} from "../../accounts/index.ts";
import { sendEnrolment } from "../../identity/index.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { auditDecision, moveOrRefuse, platform } from "../staff-decisions.ts";
import { applicationSchema, applicationShape } from "../staff-shapes.ts";
import type { ApplicationRow } from "../store.ts";

export const adminApproveApplication = endpoint(
  {
    ...staffOperation,
    id: "admin.approve_application",
    method: "POST",
    path: "/v1/admin/applications/{id}/approve",
    summary: "Approve an application",
    description:
      "Creates the account and its owner and mails the owner an enrolment link. 409 when the e-mail address already signs in here. Invitations of other accounts do not matter.",
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: {
      200: {
        description: "Approved.",
        body: closed(
          { application: applicationSchema, account_id: uuid("The new account."), owner_id: uuid("Its owner.") },
          { title: "ApplicationApproved" },
        ),
      },
    },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const accountId = ctx.random.uuid();
    const ownerId = ctx.random.uuid();
    const row = await ctx.tx(platform, async (tx) => {
      const from = ["submitted", "under_review"] as const;
      const moved = await moveOrRefuse(tx, params.id, {
        from,
        to: "approved",
        by: principal.staffId,
        reason: body.reason,
      });
      const holder = await tx.within({ kind: "system" }, (all) => findPersonByEmail(all, moved.email_key));
      if (holder !== undefined) throw new Problem("state_conflict");
      await tx.within({ kind: "account", accountId }, (inside) =>
        openAccount(inside, ctx, moved, { accountId, ownerId }),
      );
      auditDecision(tx, "application.approved", params.id, body.reason);
      return moved;
    });
    return { status: 200, body: { application: applicationShape(row), account_id: accountId, owner_id: ownerId } };
  },
);

async function openAccount(
  tx: Tx,
  ctx: Ctx,
  application: ApplicationRow,
  { accountId, ownerId }: { readonly accountId: string; readonly ownerId: string },
): Promise<void> {
  await insertAccount(tx, {
    id: accountId,
    kind: application.kind,
    name: application.company_name,
    taxId: application.tax_id,
    package: application.package,
    language: application.language,
    applicationId: application.id,
  });
  const inserted = await insertPerson(tx, {
    id: ownerId,
    accountId,
    role: "owner",
    state: "invited",
    email: application.email,
    emailKey: application.email_key,
    fullName: application.full_name,
    phone: application.phone,
    language: application.language,
    invitedBy: null,
  });
  const owner = inserted ? await findPerson(tx, accountId, ownerId) : undefined;
  if (owner === undefined) throw new Problem("state_conflict");
  await sendEnrolment(tx, ctx, owner);
  const targets = [
    { type: "account", id: accountId },
    { type: "person", id: ownerId },
  ];
  tx.audit({ action: "account.created", targets, metadata: { package: application.package } });
}
