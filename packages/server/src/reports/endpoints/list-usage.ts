/** `GET /v1/usage`: what is stored in each vault, day by day, and when its quota is reached. */

import { type CursorBinding, pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, type Static, Type, text, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults, byteCount } from "../../vaults/index.ts";
import { addDays, dayOf, dayParameter, daySchema, daysOf, maxDays } from "../istanbul-days.ts";
import { paceDays, quotaReachedOn } from "../rules.ts";
import { usageBytes, usageDay } from "../usage-shapes.ts";
import { type UsageRow, type UsageVault, usageRows, usageVaults } from "../usage-store.ts";

const operation = "usage.list";
const byName = { ...sortable("name"), textKeys: { name: "name_order" } };

const vaultUsage = closed(
  {
    vault_id: uuid("The vault."),
    name: text(200, { description: "Its name.", examples: ["Muhasebe"] }),
    ...usageBytes,
    quota_bytes: nullable(byteCount("The vault stores at most this much; null: no quota.")),
    quota_reached_on: nullable(
      daySchema(
        `The day on which the quota is reached at the pace of the last ${paceDays} days; null: not within ten years, or not known.`,
      ),
    ),
    days: Type.Array(usageDay, {
      maxItems: maxDays,
      description: "What was stored at the end of each day, today until now. Days before the first count are left out.",
    }),
  },
  { title: "VaultUsage" },
);

export const listUsage = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/usage",
    tag: "reports",
    summary: "List what is stored",
    description: `For each vault, by name in the Turkish alphabet: what is stored now and by day in Istanbul, beside the bytes of the files. At most ${maxDays} days; the last 30 if none are given.`,
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    query: closed({
      from: dayParameter("The first day."),
      to: dayParameter("The last day; today if absent."),
      vault_id: Type.Optional(uuid("Only this vault.")),
      ...pageQuery,
    }),
    replies: { 200: { description: "A page.", body: pageOf(vaultUsage, "UsagePage") } },
    errors: ["validation_failed"],
  },
  async (ctx, { principal, query, language }) => {
    const { accountId } = principal;
    const allowed = allowedVaults(principal);
    const today = dayOf(ctx.clock.now());
    const days = daysOf(query, ctx.clock.now(), language).filter((day) => day <= today);
    const { vault_id: vaultId } = query;
    const isSeen = vaultId !== undefined && (allowed?.includes(vaultId) ?? true);
    const within = vaultId === undefined ? allowed : isSeen ? [vaultId] : [];
    const binding: CursorBinding = {
      operation,
      filters: [accountId, within, query.from ?? null, query.to ?? null],
      sorting: byName,
    };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), async (tx) => {
      const vaults = await usageVaults(tx, accountId, within, page);
      const paceFrom = addDays(today, -paceDays);
      const [first = today] = days;
      const ids = vaults.map(({ id }) => id);
      const noted = await usageRows(tx, accountId, ids, first < paceFrom ? first : paceFrom);
      const byVault = Map.groupBy(noted, (row) => row.vault_id);
      return vaults.map((vault) => ({ ...vault, usage: usageOf(vault, byVault.get(vault.id) ?? [], days, today) }));
    });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, ({ usage }) => usage) };
  },
);

function usageOf(
  vault: UsageVault,
  noted: readonly UsageRow[],
  days: readonly string[],
  today: string,
): Static<typeof vaultUsage> {
  const { stored_bytes, size_bytes, quota_bytes } = vault;
  const shown = days.flatMap((day) => {
    if (day === today) return [{ day, stored_bytes, size_bytes }];
    const last = lastUntil(noted, day);
    return last === null ? [] : [{ day, stored_bytes: last.stored_bytes, size_bytes: last.size_bytes }];
  });
  const paceFrom = addDays(today, -paceDays);
  const earlier = lastUntil(noted, paceFrom);
  // A vault that is younger has the pace of its life.
  const since = earlier === null ? noted[0] : { ...earlier, day: paceFrom };
  const pace = since === undefined ? null : { day: since.day, stored: since.stored_bytes };
  return {
    ...{ vault_id: vault.id, name: vault.name, stored_bytes, size_bytes, quota_bytes },
    quota_reached_on: quotaReachedOn({ quota: quota_bytes, stored: stored_bytes, today }, pace),
    days: shown,
  };
}

/** The last that was noted until a day. */
function lastUntil(noted: readonly UsageRow[], day: string): UsageRow | null {
  return noted.findLast((row) => row.day <= day) ?? null;
}
