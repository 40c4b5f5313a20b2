/** Changes of an account by staff. Each has a reason and is in the account's own audit chain. */

import {
  type AccountRow,
  accountSchema,
  accountShape,
  accountSuspended,
  findAccount,
  lockAccount,
  packages,
  setEntitlement,
  suspensionCauses,
  updateAccount,
} from "../../accounts/index.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, Type } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { idParam, reasonSchema } from "../shapes.ts";

const shared = {
  method: "POST",
  tag: "admin",
  access: { kind: "staff" },
  params: idParam,
  replies: { 200: { description: "The account.", body: accountSchema } },
} as const;

export const suspendAccount = endpoint(
  {
    ...shared,
    id: "admin.suspend_account",
    path: "/v1/admin/accounts/{id}/suspend",
    summary: "Suspend an account",
    description: "Its members can sign in, read and restore, not write. Emits `account.suspended`.",
    body: closed({ cause: oneOf(suspensionCauses, "Why, for the customer's systems."), reason: reasonSchema }),
    errors: ["state_conflict"],
  },
  async (ctx, { params, body }) => {
    const metadata = { reason: body.reason, cause: body.cause };
    const row = await change(ctx, params.id, { action: "account.suspended", metadata }, async (tx, before) => {
      if (before.state !== "active") throw new Problem("state_conflict");
      await updateAccount(tx, before.id, { state: "suspended" });
      tx.emit(accountSuspended, { reason: body.cause });
    });
    return { status: 200, body: accountShape(row) };
  },
);

export const resumeAccount = endpoint(
  {
    ...shared,
    id: "admin.resume_account",
    path: "/v1/admin/accounts/{id}/resume",
    summary: "Resume an account",
    description: "Ends a suspension.",
    body: closed({ reason: reasonSchema }),
    errors: ["state_conflict"],
  },
  async (ctx, { params, body }) => {
    const act = { action: "account.resumed", metadata: { reason: body.reason } };
    const row = await change(ctx, params.id, act, async (tx, before) => {
      if (before.state !== "suspended") throw new Problem("state_conflict");
      await updateAccount(tx, before.id, { state: "active" });
    });
    return { status: 200, body: accountShape(row) };
  },
);

export const setAccountPackage = endpoint(
  {
    ...shared,
    id: "admin.set_package",
    path: "/v1/admin/accounts/{id}/package",
    summary: "Set an account's package",
    description: "Counts from the account's next request on.",
    body: closed({ package: oneOf(packages, "The package."), reason: reasonSchema }),
  },
  async (ctx, { params, body }) => {
    const metadata = { reason: body.reason, package: body.package };
    const row = await change(ctx, params.id, { action: "account.package_set", metadata }, (tx, before) =>
      updateAccount(tx, before.id, { package: body.package }),
    );
    return { status: 200, body: accountShape(row) };
  },
);

export const setAccountEntitlement = endpoint(
  {
    ...shared,
    id: "admin.set_entitlement",
    path: "/v1/admin/accounts/{id}/entitlements",
    summary: "Switch an entitlement on or off",
    description: "For one account, whatever its package says; null goes back to the package.",
    body: closed({
      entitlement: oneOf(["api"], "Which."),
      enabled: nullable(Type.Boolean({ description: "On, off, or null for what the package says." })),
      reason: reasonSchema,
    }),
  },
  async (ctx, { params, body }) => {
    const { reason, entitlement, enabled } = body;
    const act = { action: "account.entitlement_set", metadata: { reason, entitlement, enabled } };
    const row = await change(ctx, params.id, act, (tx, before) => setEntitlement(tx, before.id, entitlement, enabled));
    return { status: 200, body: accountShape(row) };
  },
);

export const setEarlyAccess = endpoint(
  {
    ...shared,
    id: "admin.set_early_access",
    path: "/v1/admin/accounts/{id}/early-access",
    summary: "Switch early access on or off",
    description: "With it, planned limits are watched but never block, and webhooks are off.",
    body: closed({ early_access: Type.Boolean({ description: "On or off." }), reason: reasonSchema }),
  },
  async (ctx, { params, body }) => {
    const metadata = { reason: body.reason, early_access: body.early_access };
    const row = await change(ctx, params.id, { action: "account.early_access_set", metadata }, (tx, before) =>
      updateAccount(tx, before.id, { early_access: body.early_access }),
    );
    return { status: 200, body: accountShape(row) };
  },
);

interface Act {
  readonly action: string;
  readonly metadata: Readonly<Record<string, string | boolean | null>>;
}

async function change(
  ctx: Pick<Ctx, "tx">,
  accountId: string,
  { action, metadata }: Act,
  work: (tx: Tx, before: AccountRow) => Promise<void>,
): Promise<AccountRow> {
  return ctx.tx({ kind: "account", accountId }, async (tx) => {
    const before = await lockAccount(tx, accountId);
    if (before === undefined) throw new Problem("not_found");
    await work(tx, before);
    tx.audit({ action, targets: [{ type: "account", id: accountId }], metadata });
    return (await findAccount(tx, accountId)) ?? before;
  });
}
