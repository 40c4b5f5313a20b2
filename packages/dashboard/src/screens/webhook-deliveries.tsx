/** The deliveries of a webhook, and the one that is open: its attempts, the named cause, the body, and the retry by hand. */

import type { WebhookAttempt, WebhookDelivery, WebhookDeliveryDetail } from "@emanet/client/source";
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { useEffect, useState } from "react";
import { client, queries } from "../api/client.ts";
import { deliveriesQuery, deliveryQuery } from "../api/queries.ts";
import { perform } from "../api/step-up.ts";
import { clockWithSeconds, count, dayKey, recently, shortDay, today } from "../format.ts";
import { ActError } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { Segments } from "../parts/segments.tsx";
import { CopyButton, Empty, QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";

const filters = ["all", "failed", "delivered"] as const;
type Filter = (typeof filters)[number];

const statuses: Readonly<Record<string, Status>> = {
  ...{ pending: "running", retrying: "late", delivered: "ok", failed: "failed" },
};

const words: Readonly<Record<string, () => string>> = {
  pending: () => t.webhooks.pending,
  retrying: () => t.webhooks.retrying,
  delivered: () => t.webhooks.delivered,
  failed: () => t.webhooks.failed,
};

interface DeliveriesProps {
  readonly webhookId: string;
  readonly why: string | undefined;
}

export function Deliveries({ webhookId, why }: DeliveriesProps) {
  const [filter, setFilter] = useState<Filter>("all");
  const [open, setOpen] = useState<string | null>(null);
  const deliveries = useInfiniteQuery(deliveriesQuery(webhookId, filter === "all" ? null : filter));
  const texts = { all: t.webhooks.all, failed: t.webhooks.failed, delivered: t.webhooks.delivered };
  return (
    <div className="webhook-columns">
      <section className="card" aria-labelledby="deliveries-title">
        <header className="card-header">
          <h2 id="deliveries-title">{t.webhooks.deliveries}</h2>
          <Segments
            label={t.webhooks.status}
            value={filter}
            onValue={setFilter}
            options={filters.map((value) => ({ value, text: texts[value] }))}
          />
        </header>
        <QueryView query={deliveries} lines={8}>
          {({ pages }) => {
            const list = pages.flatMap(({ data }) => data);
            if (list.length === 0) return <Empty title={t.webhooks.none} />;
            return (
              <>
                <Table list={list} open={open} onOpen={setOpen} />
                <MoreButton query={deliveries} />
              </>
            );
          }}
        </QueryView>
      </section>
      <section className="card delivery" aria-label={t.webhooks.attempts}>
        {open === null ? (
          <Empty title={t.webhooks.pick} detail={t.webhooks.pickDetail} />
        ) : (
          <OpenDelivery key={open} id={open} why={why} />
        )}
      </section>
    </div>
  );
}

interface TableProps {
  readonly list: readonly WebhookDelivery[];
  readonly open: string | null;
  readonly onOpen: (id: string) => void;
}

function Table({ list, open, onOpen }: TableProps) {
  return (
    <table className="table card-table deliveries">
      <thead>
        <tr>
          <th scope="col">{t.webhooks.status}</th>
          <th scope="col">{t.webhooks.event}</th>
          <th scope="col">{t.webhooks.answer}</th>
          <th scope="col" className="hide-narrow">
            {t.webhooks.attempts}
          </th>
          <th scope="col" className="number">
            {t.webhooks.time}
          </th>
        </tr>
      </thead>
      <tbody>
        {list.map((delivery) => (
          <tr key={delivery.id} className={delivery.id === open ? "row-open" : ""}>
            <td className={`status status-${statuses[delivery.status] ?? "none"}`}>
              <Glyph status={statuses[delivery.status] ?? "none"} size={15} /> {words[delivery.status]?.()}
            </td>
            <th scope="row">
              <button type="button" className="entry" onClick={() => onOpen(delivery.id)}>
                <code>{delivery.event}</code>
              </button>
            </th>
            <td>{delivery.last_attempt !== null && <Answer attempt={delivery.last_attempt} />}</td>
            <td className="hide-narrow">{count(delivery.attempt_count)}</td>
            <td className="number">{timeOf(delivery.last_attempt?.at ?? delivery.created_at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const timeOf = (at: string): string => (dayKey(at) === today() ? clockWithSeconds(at) : shortDay(at));

function Answer({ attempt: { status, error } }: { readonly attempt: WebhookAttempt }) {
  const text = status === null ? (t.webhooks.errors[error ?? ""] ?? error ?? "–") : String(status);
  return <span className={error === null ? "code-tag code-ok" : "code-tag code-failed"}>{text}</span>;
}

/** An attempt by hand has no event: the delivery is read so often until the attempt is there, then the list too. */
const attemptMs = 1_000;

function OpenDelivery({ id, why }: { readonly id: string; readonly why: string | undefined }) {
  // How many attempts there were when another one was asked for.
  const [before, setBefore] = useState<number | null>(null);
  const delivery = useQuery({ ...deliveryQuery(id), refetchInterval: before === null ? false : attemptMs });
  const attempts = delivery.data?.attempts.length ?? 0;
  const work = useMutation({
    mutationFn: () => perform((options) => client.webhookDeliveries.retry({ id }, options)),
    onSuccess: () => setBefore(attempts),
  });
  useEffect(() => {
    if (before === null || attempts <= before) return;
    setBefore(null);
    void queries.invalidateQueries({ queryKey: ["webhooks"] });
  }, [attempts, before]);
  return (
    <QueryView query={delivery} lines={6}>
      {(data) => (
        <>
          <header className="delivery-head">
            <Glyph status={statuses[data.status] ?? "none"} />
            <h2>
              <code>{data.event}</code>
            </h2>
            <Button
              look="primary"
              size="small"
              icon={<RefreshCw size={14} aria-hidden="true" />}
              unavailable={why}
              busy={work.isPending || before !== null}
              onClick={() => work.mutate()}
            >
              {t.webhooks.retry}
            </Button>
          </header>
          <ActError error={work.error} />
          <Attempts delivery={data} />
          <Body delivery={data} />
        </>
      )}
    </QueryView>
  );
}

function Attempts({ delivery }: { readonly delivery: WebhookDeliveryDetail }) {
  return (
    <ol className="attempts">
      {delivery.attempts.map((attempt) => (
        <li key={attempt.at}>
          <Glyph status={attempt.error === null ? "ok" : "failed"} size={14} />
          <span>
            {t.webhooks.attempt(attempt.number)}
            {attempt.is_manual && ` (${t.webhooks.manual})`}
          </span>
          <Answer attempt={attempt} />
          <span>{count(attempt.duration_ms)} ms</span>
          <time dateTime={attempt.at}>{timeOf(attempt.at)}</time>
        </li>
      ))}
      {delivery.next_attempt_at !== null && (
        <li>
          <Glyph status="late" size={14} />
          <span>{t.webhooks.next(recently(delivery.next_attempt_at))}</span>
        </li>
      )}
    </ol>
  );
}

function Body({ delivery: { event_id: id, body } }: { readonly delivery: WebhookDeliveryDetail }) {
  return (
    <div className="delivery-body">
      <p>
        {t.webhooks.eventId} <code>{id}</code> <CopyButton text={id} />
      </p>
      {body !== null && (
        <>
          <h3>{t.webhooks.body}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long body scrolls, also with the keyboard */}
          <pre tabIndex={0}>{indented(body)}</pre>
          <p className="lead">{t.webhooks.bodyNote}</p>
        </>
      )}
    </div>
  );
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Shown as it was sent.
    return body;
  }
}
