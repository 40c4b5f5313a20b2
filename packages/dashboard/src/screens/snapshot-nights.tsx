/** The snapshots of one source down a line, newest first; the one that is open is marked. */

import type { Snapshot } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { sourceSnapshotsQuery } from "../api/queries.ts";
import { clock, dayKey, shortDay, shortWeekday, size, today } from "../format.ts";
import { Glyph } from "../parts/glyph.tsx";
import { QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { snapshotStatus } from "./taxpayer.tsx";

export function Nights({ snapshot }: { readonly snapshot: Snapshot }) {
  const list = useQuery(sourceSnapshotsQuery(snapshot.source.id));
  return (
    <nav className="browser-nights" aria-labelledby="nights-title">
      <h2 id="nights-title">{t.browser.nights}</h2>
      <QueryView query={list} lines={8}>
        {(data) => (
          <ol>
            {data.map((one) => (
              <li key={one.id}>
                <NightLink snapshot={one} isOpen={one.id === snapshot.id} />
              </li>
            ))}
          </ol>
        )}
      </QueryView>
    </nav>
  );
}

function NightLink({ snapshot, isOpen }: { readonly snapshot: Snapshot; readonly isOpen: boolean }) {
  // The same folder in the other snapshot.
  const { path } = useSearch({ from: "/app/snapshots/$id" });
  const { id, created_at: at, file_count: files, stored_bytes: stored } = snapshot;
  const isToday = dayKey(at) === today();
  return (
    <Link
      to="/app/snapshots/$id"
      params={{ id }}
      search={path === undefined ? {} : { path }}
      className={isOpen ? "night-link night-open" : "night-link"}
      aria-current={isOpen ? "true" : undefined}
      preload={false}
    >
      <Glyph status={snapshotStatus(snapshot)} size={14} />
      <span>
        <strong>{isToday ? t.taxpayers.tonight : `${shortDay(at)} ${shortWeekday(at)}`}</strong>
        <span>
          {clock(at)}
          {files !== null && `, ${t.browser.changes(files)}`}
        </span>
      </span>
      {stored !== undefined && <span className="night-added">{stored === 0 ? "0" : `+${size(stored)}`}</span>}
    </Link>
  );
}
