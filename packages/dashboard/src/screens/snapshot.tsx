/**
 * Snapshot browser: the nights of the source, the tree of one snapshot, and the versions of the file that is open. Folder and
 * file are in the address, so that a link leads back to them.
 */

import { isProblem, type Snapshot } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { BadgeCheck, ChevronRight, Download, Lock, RotateCcw } from "lucide-react";
import { useState } from "react";
import { client, queries } from "../api/client.ts";
import { downloadPath, downloadReceipt } from "../api/downloads.ts";
import { snapshotQuery, vaultsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { perform } from "../api/step-up.ts";
import { clock, day, dayAndTime, longDay, size } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Empty, ErrorCard, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { NotFound } from "./not-found.tsx";
import { RestoreDialog } from "./restore-dialog.tsx";
import { FilePanel } from "./snapshot-file.tsx";
import { Nights } from "./snapshot-nights.tsx";
import { type Chosen, Tree } from "./snapshot-tree.tsx";

export function SnapshotScreen() {
  const { id } = useParams({ from: "/app/snapshots/$id" });
  const { may } = useRights();
  const snapshot = useQuery({
    ...{ ...snapshotQuery(id), enabled: may("snapshots:read") },
    // Progress has no events: while it is verified, this one snapshot is read again.
    refetchInterval: ({ state }) => (isVerifying(state.data) ? progressMs : false),
  });
  if (isProblem(snapshot.error, "not_found") || isProblem(snapshot.error, "validation_failed")) return <NotFound />;
  if (snapshot.data !== undefined) return <Browser snapshot={snapshot.data} />;
  return (
    <Screen title={t.browser.title}>
      {may("snapshots:read") ? (
        <QueryView query={snapshot} lines={10}>
          {() => null}
        </QueryView>
      ) : (
        <NoPermission roles={["owner", "manager", "operator", "viewer"]} />
      )}
    </Screen>
  );
}

/** Often enough to see that it goes on. */
const progressMs = 2_000;

const isVerifying = (snapshot: Snapshot | undefined): boolean => (snapshot?.verification ?? null) !== null;

/** Reads all of it back from the store and compares it, in the background. */
async function verifyNow(id: string): Promise<void> {
  const asked = await perform((options) => client.snapshots.verify({ id }, options));
  queries.setQueryData(snapshotQuery(id).queryKey, asked);
}

function Browser({ snapshot }: { readonly snapshot: Snapshot }) {
  const { path = "", file } = useSearch({ from: "/app/snapshots/$id" });
  const navigate = useNavigate({ from: "/app/snapshots/$id" });
  const [chosen, setChosen] = useState<readonly Chosen[]>([]);
  const [restoring, setRestoring] = useState<readonly string[] | null | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(null);
  const attempt = (work: Promise<void>) => void work.then(() => setFailure(null), setFailure);
  const open = (next: { path?: string; file?: string }) => {
    if (next.path !== undefined) setChosen([]);
    void navigate({ search: ({ path: folder }) => ({ ...(folder !== undefined && { path: folder }), ...next }) });
  };
  return (
    <Screen
      title={`${visibleName(snapshot.source.name)} ${day(snapshot.created_at)}`}
      heading={<Crumbs snapshot={snapshot} />}
      actions={<Actions snapshot={snapshot} attempt={attempt} onRestore={() => setRestoring(null)} />}
      isFull
    >
      <div className="browser">
        <Nights snapshot={snapshot} />
        <section className="browser-main" aria-labelledby="snapshot-title">
          <Facts snapshot={snapshot} attempt={attempt} />
          {failure !== null && <ErrorCard error={failure} isSmall />}
          {snapshot.status === "completed" ? (
            <Tree
              snapshot={snapshot}
              path={path}
              file={file}
              chosen={chosen}
              onChosen={setChosen}
              onOpen={open}
              onDownload={(entry) => attempt(downloadPath(snapshot.id, entry.path, entry.isFile))}
              onRestore={() => setRestoring(chosen.map((entry) => entry.path))}
            />
          ) : (
            <Empty
              title={snapshot.status === "expired" ? t.browser.expired : t.browser.notDone}
              {...(snapshot.failure !== null && { detail: snapshot.failure.detail })}
            />
          )}
        </section>
        <FilePanel
          snapshot={snapshot}
          file={file}
          onDownload={(wanted) => attempt(downloadPath(snapshot.id, wanted, true))}
          onRestore={(wanted) => setRestoring([wanted])}
        />
      </div>
      {restoring !== undefined && (
        <RestoreDialog snapshot={snapshot} paths={restoring} onClose={() => setRestoring(undefined)} />
      )}
    </Screen>
  );
}

/** The taxpayer's name, where the vault has one. */
export function useVaultName(vaultId: string): { readonly name: string | null; readonly taxpayerId: string | null } {
  const { data } = useQuery(vaultsQuery);
  const vault = data?.find(({ id }) => id === vaultId);
  return { name: vault?.name ?? null, taxpayerId: vault?.taxpayer_id ?? null };
}

function Crumbs({ snapshot }: { readonly snapshot: Snapshot }) {
  const { name, taxpayerId } = useVaultName(snapshot.vault_id);
  return (
    <div className="crumbs">
      {taxpayerId !== null && name !== null && (
        <>
          <Link to="/app/taxpayers" className="hide-narrow">
            {t.taxpayers.title}
          </Link>
          <ChevronRight size={14} aria-hidden="true" className="hide-narrow" />
          <Link to="/app/taxpayers/$id" params={{ id: taxpayerId }}>
            <ShownName name={name} />
          </Link>
          <ChevronRight size={14} aria-hidden="true" />
        </>
      )}
      <h1>
        <ShownName name={snapshot.source.name} />
      </h1>
    </div>
  );
}

interface ActionsProps {
  readonly snapshot: Snapshot;
  readonly attempt: (work: Promise<void>) => void;
  readonly onRestore: () => void;
}

function Actions({ snapshot, attempt, onRestore }: ActionsProps) {
  const { whyNot } = useRights();
  if (snapshot.status !== "completed") return null;
  return (
    <>
      <Button
        icon={<BadgeCheck size={16} aria-hidden="true" />}
        onClick={() => attempt(downloadReceipt(snapshot.id))}
        className="hide-narrow"
      >
        {t.browser.receipt}
      </Button>
      <Button
        icon={<Download size={16} aria-hidden="true" />}
        onClick={() => attempt(downloadPath(snapshot.id, "", false))}
        className="hide-narrow"
      >
        {t.browser.downloadAll}
      </Button>
      <Button
        icon={<RotateCcw size={16} aria-hidden="true" />}
        unavailable={whyNot("restores:write")}
        onClick={onRestore}
      >
        {t.browser.restoreAll}
      </Button>
    </>
  );
}

function Facts({ snapshot, attempt }: Pick<ActionsProps, "snapshot" | "attempt">) {
  const { whyNot } = useRights();
  const why = whyNot("snapshots:write");
  const { created_at: at, file_count: files, size_bytes: bytes, stored_bytes: stored, retention } = snapshot;
  const warnings = snapshot.warning_count ?? 0;
  return (
    <header className="browser-facts">
      <h2 id="snapshot-title">
        {longDay(at)}, {clock(at)}
      </h2>
      {snapshot.verification && (
        <span className="tag tag-running" role="status">
          <Glyph status="running" size={13} /> {t.browser.verifying(snapshot.verification.checked_files)}
        </span>
      )}
      {snapshot.verified_at !== null && warnings === 0 && (
        <span className="tag tag-ok" title={dayAndTime(snapshot.verified_at)}>
          <Glyph status="ok" size={13} /> {t.browser.verified}
        </span>
      )}
      {warnings > 0 && (
        <span className="tag tag-late">
          <Glyph status="late" size={13} /> {t.browser.warnings(warnings)}
        </span>
      )}
      {snapshot.status === "completed" && !snapshot.verification && (
        <Button size="small" unavailable={why} onClick={() => attempt(verifyNow(snapshot.id))}>
          {t.browser.verifyNow}
        </Button>
      )}
      {retention.locked_until !== null && (
        <span className="tag" title={t.browser.lockedUntil(day(retention.locked_until))}>
          <Lock size={12} aria-hidden="true" /> {t.browser.locked(day(retention.locked_until))}
        </span>
      )}
      <p>
        {files !== null && bytes !== null && t.browser.facts(files, size(bytes))}{" "}
        {stored !== undefined && t.browser.added(size(stored))}
      </p>
    </header>
  );
}
