/** `POST /v1/admin/bans`: staff ban a client, a session or an address. */

import ipaddr from "ipaddr.js";
import { reasonSchema, staffOperation } from "../../accounts/index.ts";
import { addressKey, clientAddresses } from "../../kernel/http/client-address.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, nullable, oneOf, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { isUuid } from "../../kernel/uuid.ts";
import { banSubject, findCredentialAccount } from "../ban-store.ts";
import { banSchema, banShape } from "../shapes.ts";

/** A day, as for automatic bans: tomorrow the address may belong to another person. */
const maxAddressHours = 24;

/** A year; longer is "until it is lifted". */
const maxHours = 24 * 366;

export const adminSetBan = endpoint(
  {
    ...staffOperation,
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
    const accountId = isAddress ? null : await ctx.tx({ kind: "staff" }, (tx) => accountOf(tx, kind, subject));
    const by = { cause: "staff", staffId: principal.staffId, reason, hours } as const;
    const sources = { random: ctx.random, staffEmail: ctx.settings.staffEmail };
    const row = await banSubject(ctx.tx, { kind, subject, accountId, by }, sources);
    if (row === undefined) throw new Problem("state_conflict");
    return { status: 201, body: banShape(row) };
  },
);

/** The account of a client or session; null for a session of staff. */
async function accountOf(tx: Tx, kind: "client" | "session", id: string): Promise<string | null> {
  const found = isUuid(id) ? await findCredentialAccount(tx, kind, id) : undefined;
  if (found === undefined) throw new Problem("not_found");
  return found.account_id;
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
