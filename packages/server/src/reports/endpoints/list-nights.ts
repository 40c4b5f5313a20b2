/** `GET /v1/nights`: how the backups of each taxpayer or source went, day by day. */

import { type CursorBinding, pageFields, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, type Static, Type, text, timestamp, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults } from "../../vaults/index.ts";
import { addDays, dayParameter, daySchema, daysOf, maxDays, startOf } from "../istanbul-days.ts";
import { nightRows, nightSources, nightSubjects } from "../night-store.ts";
import { type Nights, nightsOf } from "../nights.ts";
import { countStates, nightStates } from "../rules.ts";

const operation = "nights.list";
const byName = { ...sortable("name"), textKeys: { name: "name_order" } };

/** The clients of a large office in one answer. */
const maxSubjects = 500;

/** Of one row, or of all: a page has at most so many nights. */
const count = () => Type.Integer({ format: "int32", minimum: 0, maximum: maxSubjects * maxDays });

const counts = closed(
  { ok: count(), unchanged: count(), late: count(), failed: count(), running: count(), none: count() },
  { title: "NightCounts", description: "Nights by state." },
);

const nightState = oneOf(
  nightStates,
  "`ok`: a snapshot was completed. `unchanged`: the same, and nothing had changed. `late`: none was completed, and one was due by the end of the day, or by now. `failed`: an upload failed, and none was completed. `running`: an upload is open. `none`: none of these.",
);

const nightsRow = closed(
  {
    taxpayer_id: nullable(uuid("The taxpayer; null for a source.")),
    source_id: nullable(uuid("The source, in a vault that is no taxpayer's; null for a taxpayer.")),
    vault_id: uuid("Its vault."),
    name: text(200, { description: "Its name.", examples: ["Deniz Örnek"] }),
    states: Type.Array(nightState, {
      maxItems: maxDays,
      description: "One per day, from `from` to `to`. Of a taxpayer, the worst of its sources.",
    }),
    counts,
    last_good_at: nullable(timestamp("When a snapshot was last completed.")),
  },
  { title: "Nights" },
);

export const listNights = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/nights",
    tag: "reports",
    summary: "List nights",
    description: `How backups went, by day in Istanbul: a row per active taxpayer, and per source in other vaults, by name in the Turkish alphabet. A snapshot belongs to the day on which it was created. At most ${maxDays} days; the last 30 if none are given. \`ETag\` makes a repetition cheap.`,
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    query: closed({
      from: dayParameter("The first day."),
      to: dayParameter("The last day; today if absent."),
      cursor: pageQuery.cursor,
      limit: Type.Optional(
        Type.Integer({
          ...{ minimum: 1, maximum: maxSubjects, format: "int32" },
          description: `Number of rows per page (default ${maxSubjects}).`,
        }),
      ),
    }),
    replies: {
      200: {
        description: "A page.",
        body: closed(
          {
            from: daySchema("The first day."),
            to: daySchema("The last day."),
            counts,
            ...pageFields(nightsRow, maxSubjects),
          },
          { title: "NightsPage" },
        ),
      },
    },
    errors: ["validation_failed"],
  },
  async (ctx, { principal, query, language }) => {
    const { accountId } = principal;
    const within = allowedVaults(principal);
    const now = ctx.clock.now();
    const days = daysOf(query, now, language);
    const [from = "", to = ""] = [days[0], days.at(-1)];
    const starts = [...days, addDays(to, 1)].map(startOf);
    const request = { ...query, limit: query.limit ?? maxSubjects };
    const binding: CursorBinding = { operation, filters: [accountId, within, from, to], sorting: byName };
    const page = ctx.cursors.start(request, binding);
    const nights = await ctx.read(rowAccessOf(principal), async (tx) => {
      const subjects = await nightSubjects(tx, accountId, within, page);
      const sources = await nightSources(tx, accountId, subjects, starts[0] ?? now);
      const rows = await nightRows(
        tx,
        sources.map(({ id }) => id),
        starts,
      );
      return nightsOf(subjects, sources, rows, { starts, now });
    });
    const rows = nights.map((one) => ({ ...one, id: one.subject.id, name_order: one.subject.name_order }));
    const body = ctx.cursors.page(rows, request, binding, show);
    const all = countStates(body.data.flatMap(({ states }) => states));
    return { status: 200, body: { from, to, counts: all, ...body } };
  },
);

function show({ subject, states, counts: own, lastGoodAt }: Nights): Static<typeof nightsRow> {
  return {
    taxpayer_id: subject.kind === "taxpayer" ? subject.id : null,
    source_id: subject.kind === "source" ? subject.id : null,
    vault_id: subject.vault_id,
    name: subject.name,
    states: [...states],
    counts: own,
    last_good_at: lastGoodAt?.toISOString() ?? null,
  };
}
