/** `/v1/admin/applications`: reading, reviewing and deciding applications. */

import { findPerson, insertAccount, insertPerson } from "../../accounts/index.ts";
import {
  type ApplicationRow,
  applicationStates,
  findApplication,
  listApplications,
  moveApplication,
} from "../../applications/index.ts";
import { sendEnrolment } from "../../identity/index.ts";
import { pageOf, pageQuery } from "../../kernel/cursors.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, uuid } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { applicationSchema, applicationShape, idParam, reasonSchema } from "../shapes.ts";

const shared = { tag: "admin", access: { kind: "staff" } } as const;
const platform = { kind: "platform" } as const;

export const listAdminApplications = endpoint(
  {
    ...shared,
    id: "admin.list_applications",
    method: "GET",
    path: "/v1/admin/applications",
    summary: "List the applications",
    description: "Newest first.",
    query: closed({ ...pageQuery, status: Type.Optional(oneOf(applicationStates, "Only those in this state.")) }),
    replies: { 200: { description: "A page.", body: pageOf(applicationSchema, "AdminApplicationPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_applications", filters: [query.status ?? null] };
    const page = ctx.cursors.start(query, binding);
    const filter = query.status === undefined ? {} : { status: query.status };
    const rows = await ctx.tx({ kind: "staff" }, (tx) => listApplications(tx, filter, page));
    const position = (row: ApplicationRow) => ({ key: row.created_at.toISOString(), id: row.id });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, { position, item: applicationShape }) };
  },
);

export const getAdminApplication = endpoint(
  {
    ...shared,
    id: "admin.get_application",
    method: "GET",
    path: "/v1/admin/applications/{id}",
    summary: "Read an application",
    description: "One application.",
    params: idParam,
    replies: { 200: { description: "The application.", body: applicationSchema } },
  },
  async (ctx, { params }) => {
    const row = await ctx.tx({ kind: "staff" }, (tx) => findApplication(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: applicationShape(row) };
  },
);

export const reviewApplication = endpoint(
  {
    ...shared,
    id: "admin.review_application",
    method: "POST",
    path: "/v1/admin/applications/{id}/review",
    summary: "Take an application into review",
    description: "Says that somebody is looking at it.",
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: { 200: { description: "The application.", body: applicationSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const row = await ctx.tx(platform, async (tx) => {
      const moved = await move(tx, params.id, {
        from: ["submitted"],
        to: "under_review",
        by: principal.staffId,
        reason: body.reason,
      });
      audit(tx, "application.review_started", params.id, body.reason);
      return moved;
    });
    return { status: 200, body: applicationShape(row) };
  },
);

export const approveApplication = endpoint(
  {
    ...shared,
    id: "admin.approve_application",
    method: "POST",
    path: "/v1/admin/applications/{id}/approve",
    summary: "Approve an application",
    description:
      "Makes the account and its owner and mails the owner an enrolment link. 409 when the e-mail address already signs in here.",
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
      const moved = await move(tx, params.id, { from, to: "approved", by: principal.staffId, reason: body.reason });
      await tx.within({ kind: "account", accountId }, (inside) =>
        openAccount(inside, ctx, moved, { accountId, ownerId }),
      );
      audit(tx, "application.approved", params.id, body.reason);
      return moved;
    });
    return { status: 200, body: { application: applicationShape(row), account_id: accountId, owner_id: ownerId } };
  },
);

export const rejectApplication = endpoint(
  {
    ...shared,
    id: "admin.reject_application",
    method: "POST",
    path: "/v1/admin/applications/{id}/reject",
    summary: "Reject an application",
    description: "The applicant is told by mail, with the reason as it is written here.",
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: { 200: { description: "The application.", body: applicationSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const row = await ctx.tx(platform, async (tx) => {
      const from = ["submitted", "under_review"] as const;
      const moved = await move(tx, params.id, { from, to: "rejected", by: principal.staffId, reason: body.reason });
      const { email: to, language } = moved;
      const values = { application_id: moved.id, reason: body.reason };
      const mail = { id: ctx.random.uuid(), to, language };
      await tx.job({ task: sendMessage, payload: mailMessage({ ...mail, template: "application_rejected", values }) });
      audit(tx, "application.rejected", params.id, body.reason);
      return moved;
    });
    return { status: 200, body: applicationShape(row) };
  },
);

/** 404 for what does not exist, 409 for what is in another state. */
async function move(tx: Tx, id: string, wanted: Parameters<typeof moveApplication>[2]): Promise<ApplicationRow> {
  const moved = await moveApplication(tx, id, wanted);
  if (moved !== undefined) return moved;
  throw new Problem((await findApplication(tx, id)) === undefined ? "not_found" : "state_conflict");
}

function audit(tx: Tx, action: string, id: string, reason: string): void {
  tx.audit({ action, targets: [{ type: "application", id }], metadata: { reason } });
}

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
