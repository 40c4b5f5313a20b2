/** Restores: how far each is, whether every file was checked, and the download. Running ones are read again by events. */

import type { Restore } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Download, RotateCcw } from "lucide-react";
import { useState } from "react";
import { client, queries } from "../api/client.ts";
import { downloadRestore } from "../api/downloads.ts";
import { agentsQuery, restoreQuery, restoresQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { NotConfirmed, perform } from "../api/step-up.ts";
import { count, day, dayAndTime, size } from "../format.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Empty, ErrorCard, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { useVaultName } from "./snapshot.tsx";

const isOpen = ({ status }: Restore): boolean => status === "pending" || status === "running";

export function Restores() {
  const { may } = useRights();
  const restores = useQuery({ ...restoresQuery, enabled: may("restores:read") });
  return (
    <Screen title={t.restore.title} aside={restores.data === undefined ? "" : count(restores.data.length)}>
      {may("restores:read") ? (
        <QueryView query={restores} lines={8}>
          {(list) =>
            list.length === 0 ? (
              <Empty
                icon={<RotateCcw size={28} aria-hidden="true" />}
                title={t.restore.empty}
                detail={t.restore.emptyDetail}
              />
            ) : (
              <ul className="card restores">
                {list.map((restore) => (
                  <Item key={restore.id} restore={restore} />
                ))}
              </ul>
            )
          }
        </QueryView>
      ) : (
        <NoPermission roles={["owner", "manager", "operator", "viewer"]} />
      )}
    </Screen>
  );
}

const statuses: Readonly<Record<string, Status>> = {
  ...{ pending: "running", running: "running", completed: "ok", failed: "failed", canceled: "none" },
};

/** While one runs, its own progress is read so often: events come at the begin and at the end. The list is not read. */
const progressMs = 2_000;

/** The restore as it is now; the one of the list until more is known. */
function useProgress(listed: Restore): Restore {
  const { data } = useQuery({
    ...restoreQuery(listed.id),
    enabled: isOpen(listed),
    refetchInterval: ({ state }) => (state.data === undefined || isOpen(state.data) ? progressMs : false),
  });
  // A list that is read after the end knows more than the last look at the progress.
  return data !== undefined && isOpen(listed) ? data : listed;
}

function Item({ restore: listed }: { readonly restore: Restore }) {
  const restore = useProgress(listed);
  const { name } = useVaultName(restore.vault_id);
  const { data: agents } = useQuery(agentsQuery);
  const [failure, setFailure] = useState<unknown>(null);
  const agent = agents?.find(({ id }) => id === restore.target.agent_id)?.name;
  const hasWarnings = restore.warning_count > 0;
  const status = restore.status === "completed" && hasWarnings ? "late" : (statuses[restore.status] ?? "none");
  return (
    <li className="row restore-row">
      <Glyph status={status} size={20} />
      <div>
        <strong>
          <ShownName name={name ?? ""} /> {t.restore.status[restore.status] ?? restore.status}
        </strong>
        <span>
          {dayAndTime(restore.created_at)} · {t.restore.progress(restore.files_restored, restore.files_total)} ·{" "}
          {size(restore.bytes_total)}
          {agent !== undefined && ` · ${visibleName(agent)}`}
        </span>
        <span>{outcomeOf(restore)}</span>
        {isOpen(restore) && restore.bytes_total > 0 && (
          <progress
            className="bar"
            max={restore.bytes_total}
            value={restore.bytes_restored}
            aria-label={t.restore.status.running}
          />
        )}
        {failure !== null && <ErrorCard error={failure} isSmall />}
      </div>
      <Actions restore={restore} onFailure={setFailure} />
    </li>
  );
}

function outcomeOf(restore: Restore): string {
  if (restore.failure !== null) return restore.failure.detail;
  if (restore.warning_count > 0) return t.restore.unread(restore.warning_count);
  const checked = restore.verification !== null && restore.verification.failed === 0 ? `${t.restore.checked}. ` : "";
  if (restore.download === null) return checked;
  return checked + (restore.download.expired ? t.restore.gone : t.restore.until(day(restore.download.expires_at)));
}

interface ActionsProps {
  readonly restore: Restore;
  readonly onFailure: (error: unknown) => void;
}

function Actions({ restore, onFailure }: ActionsProps) {
  const { whyNot } = useRights();
  const onError = (error: unknown) => onFailure(error instanceof NotConfirmed ? null : error);
  const download = useMutation({ mutationFn: () => downloadRestore(restore.id), onError });
  const stop = useMutation({
    mutationFn: () => perform((options) => client.restores.cancel({ id: restore.id }, options)),
    onError,
    onSuccess: () => queries.invalidateQueries({ queryKey: ["restores"] }),
  });
  const isReady = restore.status === "completed" && restore.download !== null && !restore.download.expired;
  return (
    <span className="row-actions">
      <ButtonLink size="small" to="/app/snapshots/$id" params={{ id: restore.snapshot_id }}>
        {t.restore.snapshot}
      </ButtonLink>
      {isOpen(restore) && (
        <Button
          size="small"
          look="danger"
          busy={stop.isPending}
          unavailable={whyNot("restores:write")}
          onClick={() => stop.mutate()}
        >
          {t.restore.cancel}
        </Button>
      )}
      {isReady && (
        <Button
          size="small"
          look="primary"
          icon={<Download size={14} aria-hidden="true" />}
          busy={download.isPending}
          onClick={() => download.mutate()}
        >
          {t.restore.download}
        </Button>
      )}
    </span>
  );
}
