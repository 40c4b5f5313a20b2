/** `POST /v1/account/close`: closes the account, after 72 hours. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { withStoreProblems } from "../../snapshots/index.ts";
import { scheduleClosing } from "../closing.ts";
import { actShape, showAct } from "../shapes.ts";

export const closeAccount = endpoint(
  {
    id: "account.close",
    method: "POST",
    path: "/v1/account/close",
    tag: "account",
    summary: "Close the account",
    description: [
      "The account is closed in 72 hours. Until then everything goes on as before, every owner is mailed, and any owner cancels it",
      "(`pending_acts.cancel`). Then members can read and restore for 90 days, until `erase_after` of the account. Nothing expires, nobody writes, and",
      "open uploads end. After that every vault is erased; `erasures.list` has the proofs. Holds and locks can still be set, and keep their vault until",
      "they end. Refused while a snapshot is held or locked, now and when the time has come. Owners only, with a fresh second factor.",
    ].join(" "),
    access: { kind: "account", scope: "account:write", roles: ["owner"] },
    stepUp: true,
    whileSuspended: true,
    replies: { 202: { description: "The act, which waits.", body: actShape } },
    errors: ["state_conflict", "retention_locked", "legal_hold"],
  },
  async (ctx, { principal }) => {
    const { accountId, memberId } = principal;
    const act = await ctx.tx(rowAccessOf(principal), (tx) =>
      withStoreProblems(() => scheduleClosing(tx, ctx, accountId, memberId)),
    );
    return { status: 202, body: showAct(act) };
  },
);
