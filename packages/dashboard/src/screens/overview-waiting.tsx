/** What needs the person: failed first, then late, then connections that do not work. */

import type { Nights } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { isClosed, type NightBoard, webhooksQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { recently } from "../format.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Glyph, statusOf } from "../parts/glyph.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Count } from "../parts/states.tsx";
import { t } from "../strings/index.ts";

/** As many as fit beside the night; the list of taxpayers has all. */
const maxShown = 4;

interface Item {
  readonly id: string;
  readonly status: "failed" | "late";
  readonly title: string;
  readonly detail: string;
  readonly kind: "taxpayer" | "source" | "webhook";
}

function ofNights({ rows }: NightBoard): Item[] {
  const items = rows.flatMap((row): Item[] => {
    const status = statusOf(row.states.at(-1));
    if (status !== "failed" && status !== "late") return [];
    const id = row.taxpayer_id ?? row.source_id ?? row.vault_id;
    const kind = row.taxpayer_id === null ? "source" : "taxpayer";
    return [{ id, status, title: row.name, detail: detailOf(row), kind }];
  });
  return items.sort((a, b) => (a.status === b.status ? 0 : a.status === "failed" ? -1 : 1));
}

function detailOf({ last_good_at: at, states }: Nights): string {
  if (at === null) return t.overview.neverGood;
  const when = recently(at);
  return states.at(-1) === "late" ? t.overview.lateSince(when) : t.overview.lastGood(when);
}

export function Waiting({ night }: { readonly night: NightBoard }) {
  const { may } = useRights();
  const { data: webhooks = [] } = useQuery({ ...webhooksQuery, enabled: may("webhooks:read") });
  const closed = webhooks.filter(isClosed);
  const items: Item[] = [
    ...ofNights(night),
    ...closed.map((webhook) => ({
      id: webhook.id,
      status: "late" as const,
      title: t.overview.webhookClosed(new URL(webhook.url).host),
      detail: t.overview.webhookClosedWhy,
      kind: "webhook" as const,
    })),
  ];
  return (
    <section className="waiting" aria-labelledby="waiting-title">
      <h2 id="waiting-title">
        {t.overview.waiting} <Count of={items.length} />
      </h2>
      {items.length === 0 ? (
        <div className="waiting-none">
          <Glyph status="ok" size={22} />
          <strong>{t.overview.nothingWaits}</strong>
          <span>{t.overview.nothingWaitsDetail}</span>
        </div>
      ) : (
        <ul>
          {items.slice(0, maxShown).map((item) => (
            <li key={item.id}>
              <Glyph status={item.status} />
              <div>
                <strong>
                  <ShownName name={item.title} />
                </strong>
                <span>{item.detail}</span>
              </div>
              <Opener item={item} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Leads to where the person can do something about it. */
function Opener({ item: { id, kind, status, title } }: { readonly item: Item }) {
  const text = kind === "webhook" ? t.overview.openWebhook : t.overview.open;
  const label = { size: "small", "aria-label": `${text}: ${visibleName(title)}`, children: text } as const;
  if (kind === "taxpayer") return <ButtonLink {...label} to="/app/taxpayers/$id" params={{ id }} />;
  if (kind === "webhook") return <ButtonLink {...label} to="/app/webhooks/$id" params={{ id }} />;
  return <ButtonLink {...label} to="/app/sources" search={status === "late" ? { state: "late" } : {}} />;
}
