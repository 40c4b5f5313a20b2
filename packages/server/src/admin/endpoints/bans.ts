/** `/v1/admin/bans`: who is banned; setting and lifting by hand. */

import ipaddr from "ipaddr.js";
import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { addressKey, clientAddresses } from "../../kernel/http/client-address.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, nullable, oneOf, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { isUuid } from "../../kernel/uuid.ts";
import { banSchema, banShape, banSubject, findBan, liftBan, listBans } from "../../limits/index.ts";
import { idParam, reasonSchema } from "../shapes.ts";

const shared = { tag: "admin", access: { kind: "staff" } } as const;

/** A day, as for bans by machine: an address may be somebody else's tomorrow. */
const maxAddressHours = 24;

/** A year; longer is "until it is lifted". */
const maxHours = 24 * 366;

export const listAdminBans = endpoint(
  {
    ...shared,
    id: "admin.list_bans",
    method: "GET",
    path: "/v1/admin/bans",
    summary: "List the bans",
    description: "Newest first.",
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      state: Type.Optional(oneOf(["active"], "Only bans that are active now.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(banSchema, "AdminBanPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_bans", filters: [query.state ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.tx({ kind: "staff" }, (tx) => listBans(tx, { active: query.state === "active" }, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, banShape) };
  },
);

export const setBan = endpoint(
  {
    ...shared,
    id: "admin.set_ban",
    method: "POST",
    path: "/v1/admin/bans",
    summary: "Ban a client, a session or an address",
    description:
      "The ban of an address applies to requests without a credential and lasts at most a day. A configured proxy cannot be banned.",
    body: closed(
      {
        kind: oneOf(["client", "session", "address"], "What to ban."),
        subject: identifier("^[0-9A-Za-z.:/-]+$", "Id of the client or session, or the address."),
        hours: nullable(
          Type.Integer({
            format: "int32",
            minimum: 1,
            maximum: maxHours,
            description: "Length in hours; null: until the ban is lifted.",
          }),
        ),
        reason: reasonSchema,
      },
      { title: "NewBan" },
    ),
    replies: { 201: { description: "The ban.", body: banSchema } },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { principal, body, language }) => {
    const { kind, hours, reason } = body;
    const isAddress = kind === "address";
    if (isAddress && (hours === null || hours > maxAddressHours)) throw invalid("/hours", language);
    const subject = isAddress ? bannableAddress(body.subject, language) : body.subject;
    if (isAddress && clientAddresses(ctx.settings.trustedProxies).coversProxy(subject))
      throw new Problem("state_conflict");
    const accountId = isAddress ? null : await ctx.tx({ kind: "staff" }, (tx) => holderOf(tx, kind, subject));
    const by = { cause: "staff", staffId: principal.staffId, reason, hours } as const;
    const sources = { random: ctx.random, staffEmail: ctx.settings.staffEmail };
    const row = await banSubject(ctx.tx, { kind, subject, accountId, by }, sources);
    if (row === undefined) throw new Problem("state_conflict");
    return { status: 201, body: banShape(row) };
  },
);

export const liftAdminBan = endpoint(
  {
    ...shared,
    id: "admin.lift_ban",
    method: "POST",
    path: "/v1/admin/bans/{id}/lift",
    summary: "Lift a ban",
    description: "Applies from the next request on; for an address it reaches other processes within about a second.",
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: { 200: { description: "The ban.", body: banSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const found = await ctx.tx({ kind: "staff" }, (tx) => findBan(tx, params.id));
    if (found === undefined) throw new Problem("not_found");
    const scope =
      found.account_id === null
        ? ({ kind: "platform" } as const)
        : ({ kind: "account", accountId: found.account_id } as const);
    const act = { staffId: principal.staffId, reason: body.reason };
    const row = await ctx.tx(scope, (tx) => liftBan(tx, params.id, act));
    if (row === undefined) throw new Problem("state_conflict");
    return { status: 200, body: banShape(row) };
  },
);

/** Whose client or session it is; null for one of staff. */
async function holderOf(tx: Tx, kind: "client" | "session", id: string): Promise<string | null> {
  if (!isUuid(id)) throw new Problem("not_found");
  const table = kind === "client" ? "oauth_clients" : "sessions";
  const row = await tx.db.selectFrom(table).select("account_id").where("id", "=", id).executeTakeFirst();
  if (row === undefined) throw new Problem("not_found");
  return row.account_id;
}

function bannableAddress(text: string, language: Language): string {
  if (!ipaddr.isValid(text)) throw invalid("/subject", language);
  return addressKey(ipaddr.process(text).toString());
}

function invalid(pointer: string, language: Language): Problem {
  return new Problem("validation_failed", {
    errors: [invalidField(pointer, pointer === "/hours" ? "out_of_range" : "wrong_format", language)],
  });
}
