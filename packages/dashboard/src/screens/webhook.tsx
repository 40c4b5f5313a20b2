/** One webhook: its figures, when it would be disabled, its deliveries, and the attempts of one of them. */

import { isProblem, type Webhook, type WebhookStatistics } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ArrowUpRight, RefreshCw, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { client, queries } from "../api/client.ts";
import { webhookQuery, webhookStatisticsQuery } from "../api/queries.ts";
import { rolesWith, useRights } from "../api/rights.ts";
import { perform } from "../api/step-up.ts";
import { roundedRect } from "../charts/squares.ts";
import { count, percent, recently } from "../format.ts";
import { ActError } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Crumbs } from "../parts/crumbs.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { NotFound } from "./not-found.tsx";
import { Deliveries } from "./webhook-deliveries.tsx";
import { nameOf } from "./webhooks.tsx";

type Act = "test" | "enable" | "disable" | "retryFailed" | "replay";

/**
 * Since when events were not sent, once a webhook that was disabled is enabled again: from the first event that failed, else from
 * the moment when it was disabled.
 */
function useMissed(webhook: Webhook | undefined, statistics: WebhookStatistics | undefined) {
  const [since, setSince] = useState<string | null>(null);
  const isOff = webhook?.status === "disabled";
  const from = isOff ? (statistics?.failing_since ?? webhook.disabled_at) : null;
  return {
    since: isOff ? null : since,
    onEnable: () => setSince(from),
    onReplay: () => setSince(null),
  };
}

function useActs(id: string, webhook: Webhook | undefined, statistics: WebhookStatistics | undefined) {
  const missed = useMissed(webhook, statistics);
  const work = useMutation({
    mutationFn: (act: Act) =>
      perform((options): Promise<unknown> => {
        if (act === "replay") return client.webhooks.replay({ id, body: { from: missed.since ?? "" } }, options);
        return client.webhooks[act]({ id }, options);
      }),
    onSuccess: (_, act) => {
      if (act === "enable") missed.onEnable();
      if (act === "replay") missed.onReplay();
      return queries.invalidateQueries({ queryKey: ["webhooks"] });
    },
  });
  return { work, missed };
}

export function WebhookScreen() {
  const { id } = useParams({ from: "/app/webhooks/$id" });
  const { may, whyNot } = useRights();
  const webhook = useQuery({ ...webhookQuery(id), enabled: may("webhooks:read") });
  const statistics = useQuery({ ...webhookStatisticsQuery(id), enabled: may("webhooks:read") });
  const { work, missed } = useActs(id, webhook.data, statistics.data);
  if (isProblem(webhook.error, "not_found") || isProblem(webhook.error, "validation_failed")) return <NotFound />;
  const name = webhook.data === undefined ? t.webhooks.title : nameOf(webhook.data);
  const why = whyNot("webhooks:write");
  const isOn = webhook.data?.status === "enabled";
  return (
    <Screen
      title={visibleName(name)}
      heading={<Crumbs to="/app/webhooks" parent={t.webhooks.title} name={name} />}
      actions={
        webhook.data !== undefined && (
          <>
            <Button unavailable={why} busy={work.isPending} onClick={() => work.mutate(isOn ? "disable" : "enable")}>
              {isOn ? t.webhooks.disable : t.webhooks.enable}
            </Button>
            {isOn && (
              <Button
                icon={<ArrowUpRight size={16} aria-hidden="true" />}
                unavailable={why}
                busy={work.isPending}
                onClick={() => work.mutate("test")}
              >
                {t.webhooks.test}
              </Button>
            )}
          </>
        )
      }
    >
      {may("webhooks:read") ? (
        <div className="webhook">
          <ActError error={work.error} />
          <QueryView query={webhook} lines={2}>
            {(data) => <Figures webhook={data} statistics={statistics.data} />}
          </QueryView>
          <Warning
            webhook={webhook.data}
            statistics={statistics.data}
            why={why}
            onRetry={() => work.mutate("retryFailed")}
          />
          {missed.since !== null && (
            <Missed since={missed.since} why={why} isBusy={work.isPending} onReplay={() => work.mutate("replay")} />
          )}
          <Deliveries webhookId={id} why={why} />
        </div>
      ) : (
        <NoPermission roles={rolesWith("webhooks:read")} />
      )}
    </Screen>
  );
}

interface MissedProps {
  readonly since: string;
  readonly why: string | undefined;
  readonly isBusy: boolean;
  readonly onReplay: () => void;
}

function Missed({ since, why, isBusy, onReplay }: MissedProps) {
  return (
    <div className="warning" role="status">
      <TriangleAlert size={16} aria-hidden="true" />
      <p>{t.webhooks.missed(recently(since))}</p>
      <Button
        size="small"
        icon={<RefreshCw size={14} aria-hidden="true" />}
        unavailable={why}
        busy={isBusy}
        onClick={onReplay}
      >
        {t.webhooks.replay}
      </Button>
    </div>
  );
}

interface FiguresProps {
  readonly webhook: Webhook;
  readonly statistics: WebhookStatistics | undefined;
}

function Figures({ webhook, statistics }: FiguresProps) {
  const troubled = (statistics?.retrying ?? 0) + (statistics?.failed ?? 0) > 0;
  return (
    <section className="card webhook-head">
      <div>
        <h2>
          <ShownName name={nameOf(webhook)} /> <StateTag isOn={webhook.status === "enabled"} isTroubled={troubled} />
        </h2>
        <code>{webhook.url}</code>
      </div>
      {statistics !== undefined && (
        <>
          <dl>
            <dt>{t.webhooks.success}</dt>
            <dd>{statistics.success_share === null ? "–" : percent(statistics.success_share)}</dd>
          </dl>
          <dl>
            <dt>{t.webhooks.median}</dt>
            <dd>{statistics.median_ms === null ? "–" : `${count(statistics.median_ms)} ms`}</dd>
          </dl>
          <Hours statistics={statistics} />
        </>
      )}
    </section>
  );
}

function StateTag({ isOn, isTroubled }: { readonly isOn: boolean; readonly isTroubled: boolean }) {
  if (!isOn) return <span className="tag">{t.webhooks.off}</span>;
  return isTroubled ? (
    <span className="tag tag-late">{t.webhooks.troubled}</span>
  ) : (
    <span className="tag tag-ok">{t.webhooks.on}</span>
  );
}

const bars = { height: 34, pitch: 6.8, width: 4.6 } as const;

/** Deliveries by hour: one path for those that came, one for those that failed. */
function Hours({ statistics: { hours } }: { readonly statistics: WebhookStatistics }) {
  const highest = Math.max(1, ...hours.map(({ delivered, failed }) => delivered + failed));
  const heightOf = (value: number) => (value / highest) * bars.height;
  const width = Math.max(1, hours.length * bars.pitch);
  const bar = (at: number, value: number, below: number) =>
    value === 0
      ? ""
      : roundedRect(
          at * bars.pitch,
          bars.height - heightOf(value) - below,
          bars.width,
          Math.max(2, heightOf(value)),
          1,
        );
  const sum = (field: "delivered" | "failed") => hours.reduce((total, hour) => total + hour[field], 0);
  return (
    <div className="hours">
      <svg
        width={width}
        height={bars.height}
        viewBox={`0 0 ${width} ${bars.height}`}
        role="img"
        aria-label={t.webhooks.hours(sum("delivered"), sum("failed"))}
      >
        <path
          className="hours-ok"
          d={hours.map(({ delivered, failed }, at) => bar(at, delivered, heightOf(failed))).join("")}
        />
        <path className="hours-failed" d={hours.map(({ failed }, at) => bar(at, failed, 0)).join("")} />
      </svg>
      <span>{t.webhooks.ago}</span>
      <span>{t.webhooks.now}</span>
    </div>
  );
}

interface WarningProps {
  readonly webhook: Webhook | undefined;
  readonly statistics: WebhookStatistics | undefined;
  readonly why: string | undefined;
  readonly onRetry: () => void;
}

function Warning({ webhook, statistics, why, onRetry }: WarningProps) {
  if (webhook === undefined || statistics === undefined) return null;
  const failing = statistics.retrying + statistics.failed;
  const isOff = webhook.status !== "enabled";
  if (failing === 0 && !isOff) return null;
  return (
    <div className="warning" role="status">
      <TriangleAlert size={16} aria-hidden="true" />
      <p>
        {failing > 0 && <strong>{t.webhooks.failing(failing)} </strong>}
        {isOff && t.webhooks.closed}
        {!isOff && statistics.will_disable_at !== null && t.webhooks.willClose(recently(statistics.will_disable_at))}
      </p>
      {statistics.failed > 0 && !isOff && (
        <Button size="small" icon={<RefreshCw size={14} aria-hidden="true" />} unavailable={why} onClick={onRetry}>
          {t.webhooks.retryAll(statistics.failed)}
        </Button>
      )}
    </div>
  );
}
