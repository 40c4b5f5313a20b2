/** `GET /v1/usage/total`: what the whole account stores, day by day. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults, byteCount } from "../../vaults/index.ts";
import { dayOf, dayParameter, daysOf } from "../istanbul-days.ts";
import { usageBytes, usageDay } from "../usage-shapes.ts";
import { usageSums, usageTotal } from "../usage-store.ts";

/** A year, also a leap year: a day is one line, whatever the number of vaults. */
const maxTotalDays = 366;

export const getUsageTotal = endpoint(
  {
    id: "usage.total",
    method: "GET",
    path: "/v1/usage/total",
    tag: "reports",
    summary: "Get what is stored in all vaults",
    description: `The sums over all vaults: now, and by day in Istanbul. At most ${maxTotalDays} days; the last 30 if none are given.`,
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    query: closed({
      from: dayParameter("The first day."),
      to: dayParameter("The last day; today if absent."),
    }),
    replies: {
      200: {
        description: "The sums.",
        body: closed(
          {
            vaults: Type.Integer({
              format: "int32",
              minimum: 0,
              maximum: 2 ** 31 - 1,
              description: "How many vaults there are.",
            }),
            ...usageBytes,
            quota_bytes: nullable(byteCount("The quotas of all vaults; null: not every vault has one.")),
            days: Type.Array(usageDay, {
              maxItems: maxTotalDays,
              description:
                "What was stored at the end of each day, today until now. Days before the first count are left out.",
            }),
          },
          { title: "UsageTotal" },
        ),
      },
    },
    errors: ["validation_failed"],
  },
  async (ctx, { principal, query, language }) => {
    const { accountId } = principal;
    const within = allowedVaults(principal);
    const today = dayOf(ctx.clock.now());
    const days = daysOf(query, ctx.clock.now(), language, maxTotalDays).filter((day) => day <= today);
    const [first = today] = days;
    const [total, noted] = await ctx.read(rowAccessOf(principal), (tx) =>
      Promise.all([usageTotal(tx, accountId, within), usageSums(tx, accountId, within, first)]),
    );
    const { stored_bytes, size_bytes } = total;
    // Notes come in the order of days: one pass over both.
    let [at, last] = [0, null as (typeof noted)[number] | null];
    const shown = days.flatMap((day) => {
      if (day === today) return [{ day, stored_bytes, size_bytes }];
      for (let next = noted[at]; next !== undefined && next.day <= day; next = noted[++at]) last = next;
      return last === null ? [] : [{ day, stored_bytes: last.stored_bytes, size_bytes: last.size_bytes }];
    });
    return { status: 200, body: { ...total, days: shown } };
  },
);
