/** All snapshots, newest first; the status is in the address. */

import type { Snapshot } from "@emanet/client/source";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { History, Upload } from "lucide-react";
import { type ComponentProps, useState } from "react";
import { handUpload, isUnderway } from "../api/hand-upload.ts";
import { snapshotQuery, snapshotsQuery, vaultsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { dayAndTime, size } from "../format.ts";
import { useObservable } from "../observable.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { useLongRows } from "../parts/long-rows.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { Segments } from "../parts/segments.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { Empty, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { UploadCard, UploadDialog } from "./hand-upload.tsx";
import { snapshotStatus } from "./taxpayer.tsx";

const statuses = ["all", "completed", "running", "failed"] as const;
type ShownStatus = (typeof statuses)[number];

export function Snapshots() {
  const { may, whyNot } = useRights();
  const [isUploading, setUploading] = useState(false);
  const upload = useObservable(handUpload);
  const { status = "all" } = useSearch({ from: "/app/snapshots" });
  const navigate = useNavigate({ from: "/app/snapshots" });
  const chosen = statuses.find((one) => one === status) ?? "all";
  return (
    <Screen
      title={t.snapshots.title}
      actions={
        <Button
          look="primary"
          icon={<Upload size={16} aria-hidden="true" />}
          unavailable={isUnderway(upload) ? t.upload.sending : whyNot("snapshots:write")}
          onClick={() => setUploading(true)}
        >
          {t.upload.open}
        </Button>
      }
    >
      {may("snapshots:read") ? (
        <>
          <UploadCard />
          <div className="filter-bar">
            <Segments
              label={t.taxpayers.status}
              value={chosen}
              onValue={(value) => void navigate({ search: value === "all" ? {} : { status: value }, replace: true })}
              options={statuses.map((value) => ({ value, text: t.snapshots[value] }))}
            />
          </div>
          <List status={chosen} />
        </>
      ) : (
        <NoPermission roles={["owner", "manager", "operator", "viewer"]} />
      )}
      {isUploading && <UploadDialog onClose={() => setUploading(false)} />}
    </Screen>
  );
}

function List({ status }: { readonly status: ShownStatus }) {
  const snapshots = useInfiniteQuery(snapshotsQuery(status === "all" ? null : status));
  const { data: vaults = [] } = useQuery(vaultsQuery);
  const names = new Map(vaults.map(({ id, name }) => [id, name]));
  return (
    <QueryView query={snapshots} lines={10}>
      {({ pages }) => {
        const list = pages.flatMap(({ data }) => data);
        const watched = list.filter(isRunning).slice(0, mostWatched);
        if (list.length === 0)
          return (
            <Empty
              icon={<History size={28} aria-hidden="true" />}
              title={status === "all" ? t.snapshots.empty : t.snapshots.noMatch}
              {...(status === "all" && { detail: t.snapshots.emptyDetail })}
            >
              {status === "all" && <ButtonLink to="/app/sources">{t.sources.connect}</ButtonLink>}
            </Empty>
          );
        return <Rows list={list} names={names} watched={watched} query={snapshots} />;
      }}
    </QueryView>
  );
}

interface RowsProps {
  readonly list: readonly Snapshot[];
  readonly names: ReadonlyMap<string, string>;
  readonly watched: readonly Snapshot[];
  readonly query: ComponentProps<typeof MoreButton>["query"];
}

const rowHeight = 61;

function Rows({ list, names, watched, query }: RowsProps) {
  const rows = useLongRows<HTMLUListElement, HTMLLIElement>(list.length, rowHeight, query);
  return (
    <>
      <ul ref={rows.list} className="card rows snapshots">
        {rows.above > 0 && <li className="spacer" aria-hidden="true" style={{ height: rows.above }} />}
        {rows.shown.map((index) => {
          const snapshot = list[index];
          if (snapshot === undefined) return null;
          return (
            <li key={snapshot.id} ref={rows.measure} data-index={index} className="row">
              <Glyph status={snapshotStatus(snapshot)} />
              <div>
                <Link to="/app/snapshots/$id" params={{ id: snapshot.id }} className="row-link">
                  <strong>
                    <ShownName name={names.get(snapshot.vault_id) ?? snapshot.source.name} />
                  </strong>
                </Link>
                <span>
                  <ShownName name={snapshot.source.name} />
                  {snapshot.failure !== null && `. ${snapshot.failure.detail}`}
                </span>
              </div>
              {snapshot.size_bytes !== null && <span className="row-note">{size(snapshot.size_bytes)}</span>}
              {watched.includes(snapshot) && <Progress snapshot={snapshot} />}
              <span className="row-note">{dayAndTime(snapshot.created_at)}</span>
            </li>
          );
        })}
        {rows.below > 0 && <li className="spacer" aria-hidden="true" style={{ height: rows.below }} />}
      </ul>
      <MoreButton query={query} />
    </>
  );
}

const isRunning = ({ status }: Snapshot): boolean => status === "running" || status === "queued";

/** Progress has no events: a snapshot that runs is read so often, and of many only the newest. The list is not read. */
const progressMs = 3_000;
const mostWatched = 5;

/** What has arrived so far. */
function Progress({ snapshot }: { readonly snapshot: Snapshot }) {
  const { data = snapshot } = useQuery({ ...snapshotQuery(snapshot.id), refetchInterval: progressMs });
  return <span className="row-note">{t.snapshots.received(size(data.stored_bytes ?? 0))}</span>;
}
