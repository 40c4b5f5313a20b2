/** One taxpayer: how its nights went, its sources, its backups, where they are kept. */

import type { Snapshot, Source, Taxpayer } from "@emanet/client/source";
import { isProblem } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { RotateCcw, Server } from "lucide-react";
import { useState } from "react";
import { client, queries } from "../api/client.ts";
import { nightsQuery, sourcesQuery, taxpayerQuery, vaultSnapshotsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { perform } from "../api/step-up.ts";
import { HeatRow } from "../charts/heat-row.tsx";
import { day, dayAndTime, duration, recently, size } from "../format.ts";
import { ConfirmDialog } from "../parts/act-dialogs.tsx";
import { Button, ButtonLink } from "../parts/button.tsx";
import { Crumbs } from "../parts/crumbs.tsx";
import { Glyph, type Status, statusOf } from "../parts/glyph.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Empty, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { boardDays } from "../shell/side-bar.tsx";
import { t } from "../strings/index.ts";
import { NotFound } from "./not-found.tsx";
import { lastGoodOf, Trouble } from "./taxpayer-trouble.tsx";

export function TaxpayerScreen() {
  const { id } = useParams({ from: "/app/taxpayers/$id" });
  const { may, whyNot } = useRights();
  const taxpayer = useQuery({ ...taxpayerQuery(id), enabled: may("taxpayers:read") });
  const [isAsked, setAsked] = useState(false);
  if (isProblem(taxpayer.error, "not_found") || isProblem(taxpayer.error, "validation_failed")) return <NotFound />;
  const name = taxpayer.data?.name ?? t.taxpayers.title;
  return (
    <Screen
      title={visibleName(name)}
      heading={<Crumbs to="/app/taxpayers" parent={t.taxpayers.title} name={name} />}
      actions={
        taxpayer.data !== undefined && (
          <>
            <Button unavailable={whyNot("taxpayers:write")} onClick={() => setAsked(true)}>
              {taxpayer.data.state === "archived" ? t.taxpayer.unarchive : t.taxpayer.archive}
            </Button>
            <RestoreLink vaultId={taxpayer.data.vault_id} />
          </>
        )
      }
    >
      {may("taxpayers:read") ? (
        <QueryView query={taxpayer} lines={8}>
          {(data) => (
            <>
              <Content taxpayer={data} />
              {isAsked && <ArchiveDialog taxpayer={data} onClose={() => setAsked(false)} />}
            </>
          )}
        </QueryView>
      ) : (
        <NoPermission roles={["owner", "manager", "operator", "viewer"]} />
      )}
    </Screen>
  );
}

/** To the files of the last good backup. */
function RestoreLink({ vaultId }: { readonly vaultId: string }) {
  const { data = [] } = useQuery(vaultSnapshotsQuery(vaultId));
  const good = lastGoodOf(data);
  if (good === undefined) return null;
  return (
    <ButtonLink
      look="primary"
      icon={<RotateCcw size={16} aria-hidden="true" />}
      to="/app/snapshots/$id"
      params={{ id: good.id }}
    >
      {t.taxpayer.restore}
    </ButtonLink>
  );
}

function Content({ taxpayer }: { readonly taxpayer: Taxpayer }) {
  const nights = useQuery(nightsQuery(boardDays));
  const sources = useQuery(sourcesQuery);
  const snapshots = useQuery(vaultSnapshotsQuery(taxpayer.vault_id));
  return (
    <div className="taxpayer">
      <QueryView query={nights} lines={2}>
        {({ rows, from }) => {
          const states = rows.find(({ taxpayer_id: id }) => id === taxpayer.id)?.states ?? [];
          return (
            <>
              <Answer taxpayer={taxpayer} states={states} from={from} />
              <Trouble night={statusOf(states.at(-1))} snapshots={snapshots.data ?? []} />
            </>
          );
        }}
      </QueryView>
      <div className="taxpayer-columns">
        <section className="card" aria-labelledby="snapshots-title">
          <header className="card-header">
            <h2 id="snapshots-title">{t.taxpayer.snapshots}</h2>
          </header>
          <QueryView query={snapshots} lines={6}>
            {(list) => <Snapshots list={list} />}
          </QueryView>
        </section>
        <div className="taxpayer-side">
          <section className="card" aria-labelledby="sources-title">
            <header className="card-header">
              <h2 id="sources-title">{t.taxpayer.sources}</h2>
            </header>
            <QueryView query={sources} lines={3}>
              {(all) => <Sources list={all.filter((one) => one.vault_id === taxpayer.vault_id)} />}
            </QueryView>
          </section>
          <Details taxpayer={taxpayer} />
        </div>
      </div>
    </div>
  );
}

interface AnswerProps {
  readonly taxpayer: Taxpayer;
  readonly states: readonly string[];
  readonly from: string;
}

/** The sentence first: how tonight went, and the last good backup. */
function Answer({ taxpayer, states, from }: AnswerProps) {
  const status = statusOf(states.at(-1));
  const amount = (wanted: readonly string[]) => states.filter((state) => wanted.includes(state)).length;
  const label = t.taxpayers.nightsText(amount(["ok", "unchanged"]), amount(["late"]), amount(["failed"]));
  return (
    <section className="card taxpayer-answer">
      <Glyph status={status} size={28} />
      <div>
        <h2>{taxpayer.state === "archived" ? t.taxpayer.archived : t.night[status]}</h2>
        <p>
          {taxpayer.last_good_at === null
            ? t.overview.neverGood
            : t.overview.lastGood(recently(taxpayer.last_good_at).toLocaleLowerCase("tr"))}
        </p>
      </div>
      {states.length > 0 && <HeatRow states={states} from={from} label={label} />}
    </section>
  );
}

const ofStatus: Readonly<Record<string, Status>> = {
  ...{ completed: "ok", failed: "failed", canceled: "none", expired: "none", running: "running", queued: "running" },
};

function Snapshots({ list }: { readonly list: readonly Snapshot[] }) {
  if (list.length === 0) return <p className="card-empty">{t.taxpayer.noSnapshots}</p>;
  return (
    <ul className="rows">
      {list.map((snapshot) => (
        <li key={snapshot.id} className="row">
          <Glyph status={snapshotStatus(snapshot)} />
          <div>
            <Link to="/app/snapshots/$id" params={{ id: snapshot.id }} className="row-link">
              <strong>{dayAndTime(snapshot.created_at)}</strong>
            </Link>
            <span>
              <ShownName name={snapshot.source.name} />
              {snapshot.failure !== null && `. ${snapshot.failure.detail}`}
              {(snapshot.warning_count ?? 0) > 0 && `. ${t.taxpayer.warnings(snapshot.warning_count ?? 0)}`}
            </span>
          </div>
          {snapshot.file_count !== null && <span className="row-note">{t.taxpayer.files(snapshot.file_count)}</span>}
          {snapshot.size_bytes !== null && <span className="row-note">{size(snapshot.size_bytes)}</span>}
        </li>
      ))}
    </ul>
  );
}

/** Never plain green with warnings. */
export function snapshotStatus({ status, warning_count: warnings }: Snapshot): Status {
  return status === "completed" && (warnings ?? 0) > 0 ? "late" : (ofStatus[status] ?? "none");
}

function Sources({ list }: { readonly list: readonly Source[] }) {
  if (list.length === 0)
    return (
      <Empty
        icon={<Server size={24} aria-hidden="true" />}
        title={t.taxpayer.noSources}
        detail={t.taxpayer.noSourcesDetail}
      >
        <ButtonLink to="/app/sources">{t.sources.connect}</ButtonLink>
      </Empty>
    );
  const freshness: Readonly<Record<string, Status>> = { ok: "ok", late: "late", never: "none" };
  return (
    <ul className="rows">
      {list.map((source) => (
        <li key={source.id} className="row">
          <Glyph status={freshness[source.freshness] ?? "none"} />
          <div>
            <strong>
              <ShownName name={source.name} />
            </strong>
            <span>
              {source.expected_every === null
                ? t.taxpayer.noEvery
                : t.taxpayer.every(duration(source.expected_every * 1000))}
            </span>
          </div>
          {source.size_bytes !== null && <span className="row-note">{size(source.size_bytes)}</span>}
        </li>
      ))}
    </ul>
  );
}

function Details({ taxpayer }: { readonly taxpayer: Taxpayer }) {
  return (
    <section className="card details" aria-labelledby="details-title">
      <h2 id="details-title">{t.taxpayer.details}</h2>
      <dl>
        <dt>{t.taxpayer.taxId}</dt>
        <dd>{taxpayer.tax_id}</dd>
        <dt>{t.taxpayer.vault}</dt>
        <dd>
          <ShownName name={taxpayer.name} />
        </dd>
        <dt>{t.taxpayer.place}</dt>
        <dd>{t.taxpayer.placeService}</dd>
        <dt>{t.taxpayer.since}</dt>
        <dd>{day(taxpayer.created_at)}</dd>
      </dl>
    </section>
  );
}

function ArchiveDialog({ taxpayer, onClose }: { readonly taxpayer: Taxpayer; readonly onClose: () => void }) {
  const { id, name, state } = taxpayer;
  const isArchived = state === "archived";
  const change = useMutation({
    mutationFn: () =>
      perform(({ idempotencyKey: _key, ...options }) =>
        client.taxpayers.update({ id, body: { state: isArchived ? "active" : "archived" } }, options),
      ),
    onSuccess: async () => {
      onClose();
      await Promise.all(["taxpayers", "nights"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
  return (
    <ConfirmDialog
      title={isArchived ? t.taxpayer.unarchive : t.taxpayer.archiveAsk(visibleName(name))}
      detail={isArchived ? undefined : t.taxpayer.archiveDetail}
      confirm={isArchived ? t.taxpayer.unarchive : t.taxpayer.archive}
      work={change}
      onClose={onClose}
    />
  );
}
