/** Bars over the whole page: no connection, account suspended. */

import { useQueryClient } from "@tanstack/react-query";
import { CloudOff, OctagonPause } from "lucide-react";
import { useSyncExternalStore } from "react";
import { clock } from "../format.ts";
import { t } from "../strings/index.ts";

function watchConnection(listener: () => void): () => void {
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}

/** The data stays on the page, with its age. */
export function OfflineBar() {
  const isOnline = useSyncExternalStore(watchConnection, () => navigator.onLine);
  const cache = useQueryClient().getQueryCache();
  const latest = Math.max(0, ...cache.getAll().map(({ state }) => state.dataUpdatedAt));
  return (
    <div role="status" className="bar-place">
      {!isOnline && (
        <p className="bar-over bar-offline">
          <CloudOff size={15} aria-hidden="true" /> {t.states.offline(latest === 0 ? "–" : clock(latest))}
        </p>
      )}
    </div>
  );
}

export function SuspendedBar() {
  return (
    <p className="bar-over bar-suspended" role="status">
      <OctagonPause size={15} aria-hidden="true" /> {t.states.suspended}
    </p>
  );
}
