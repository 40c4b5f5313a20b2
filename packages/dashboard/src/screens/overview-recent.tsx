/** What happened last: backups and restores, newest first. */

import type { Restore, Snapshot } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, RotateCcw, TriangleAlert } from "lucide-react";
import { recentRestoresQuery, recentSnapshotsQuery, vaultsQuery } from "../api/queries.ts";
import { clock, dayKey, shortDay, today } from "../format.ts";
import { ShownName } from "../parts/shown-name.tsx";
import { QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";

const shown = 5;

interface Happened {
  readonly id: string;
  readonly at: string;
  readonly kind: "snapshot" | "restore";
  readonly status: string;
  readonly name: string;
  readonly detail: string;
}

function ofSnapshot(snapshot: Snapshot, vaultName: string | undefined): Happened {
  const { id, status, source, completed_at: end, created_at: begin } = snapshot;
  const name = vaultName ?? source.name;
  return { id, at: end ?? begin, kind: "snapshot", status, name, detail: vaultName === undefined ? "" : source.name };
}

function ofRestore(restore: Restore, vaultName: string | undefined): Happened {
  const { id, status, files_total: files, completed_at: end, created_at: begin } = restore;
  return { id, at: end ?? begin, kind: "restore", status, name: vaultName ?? "", detail: t.overview.files(files) };
}

export function Recent() {
  const snapshots = useQuery(recentSnapshotsQuery(shown));
  const { data: restores = [] } = useQuery(recentRestoresQuery(1));
  const { data: vaults = [] } = useQuery(vaultsQuery);
  const names = new Map(vaults.map(({ id, name }) => [id, name]));
  return (
    <section className="card recent" aria-labelledby="recent-title">
      <header className="card-header">
        <h2 id="recent-title">{t.overview.recent}</h2>
      </header>
      <QueryView query={snapshots} lines={5}>
        {(data) => {
          const all = [
            ...data.map((one) => ofSnapshot(one, names.get(one.vault_id))),
            ...restores.map((one) => ofRestore(one, names.get(one.vault_id))),
          ].sort((a, b) => (a.at < b.at ? 1 : -1));
          return all.length === 0 ? (
            <p className="card-empty">{t.overview.recentEmpty}</p>
          ) : (
            <List items={all.slice(0, shown)} />
          );
        }}
      </QueryView>
    </section>
  );
}

function List({ items }: { readonly items: readonly Happened[] }) {
  return (
    <ul className="recent-list">
      {items.map((item) => (
        <li key={item.id}>
          <span className="recent-icon">
            <ItemIcon item={item} />
          </span>
          <div>
            <span className="recent-title">{titleOf(item)}</span>
            <span className="recent-detail">
              <ShownName name={item.name} />
              {item.detail !== "" && ", "}
              <ShownName name={item.detail} />
            </span>
          </div>
          <time dateTime={item.at}>{dayKey(item.at) === today() ? clock(item.at) : shortDay(item.at)}</time>
        </li>
      ))}
    </ul>
  );
}

function ItemIcon({ item: { status, kind } }: { readonly item: Happened }) {
  if (status === "failed") return <TriangleAlert size={15} aria-hidden="true" />;
  return kind === "restore" ? <RotateCcw size={15} aria-hidden="true" /> : <CircleCheck size={15} aria-hidden="true" />;
}

function titleOf({ kind, status }: Happened): string {
  const { snapshotDone, snapshotFailed, snapshotRunning, restoreDone, restoreFailed, restoreRunning } = t.overview;
  const words =
    kind === "snapshot"
      ? { done: snapshotDone, failed: snapshotFailed, running: snapshotRunning }
      : { done: restoreDone, failed: restoreFailed, running: restoreRunning };
  if (status === "failed" || status === "canceled") return words.failed;
  return status === "completed" || status === "expired" ? words.done : words.running;
}
