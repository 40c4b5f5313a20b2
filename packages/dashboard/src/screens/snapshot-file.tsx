/** The file that is open: download, restore, its versions over all snapshots, its facts. */

import type { FileVersion, Snapshot, TreeEntry } from "@emanet/client/source";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Download, RotateCcw } from "lucide-react";
import { treeQuery, versionsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { dayAndTime, size } from "../format.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { CopyButton, Empty, QueryView } from "../parts/states.tsx";
import { useLetters } from "../shell/keys.ts";
import { t } from "../strings/index.ts";
import { EntryIcon } from "./snapshot-tree.tsx";

interface FilePanelProps {
  readonly snapshot: Snapshot;
  readonly file: string | undefined;
  readonly onDownload: (path: string) => void;
  readonly onRestore: (path: string) => void;
}

export function FilePanel({ snapshot, file, onDownload, onRestore }: FilePanelProps) {
  if (file === undefined)
    return (
      <aside className="file-panel file-panel-empty" aria-label={t.browser.details}>
        <Empty title={t.browser.pickFile} detail={t.browser.pickFileDetail} />
      </aside>
    );
  return <OpenFile snapshot={snapshot} file={file} onDownload={onDownload} onRestore={onRestore} />;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

function OpenFile({ snapshot, file, onDownload, onRestore }: FilePanelProps & { readonly file: string }) {
  const { whyNot } = useRights();
  const versions = useQuery(versionsQuery(snapshot.source.id, file));
  const { data: tree } = useInfiniteQuery({
    ...treeQuery(snapshot.id, folderOf(file)),
    enabled: snapshot.status === "completed",
  });
  const why = whyNot("restores:write");
  useLetters({ d: () => onDownload(file), ...(why === undefined && { r: () => onRestore(file) }) });
  const entry = tree?.pages.flatMap(({ data }) => data).find(({ path }) => path === file);
  return (
    <aside className="file-panel" aria-labelledby="file-title">
      <header>
        <span className="file-icon">
          <EntryIcon entry={{ type: "file", name: nameOf(file) }} />
        </span>
        <div>
          <h2 id="file-title">
            <ShownName name={nameOf(file)} />
          </h2>
          {entry?.size_bytes !== undefined && entry.size_bytes !== null && <span>{size(entry.size_bytes)}</span>}
        </div>
      </header>
      <div className="file-actions">
        <Button
          icon={<RotateCcw size={15} aria-hidden="true" />}
          unavailable={why}
          aria-keyshortcuts="R"
          onClick={() => onRestore(file)}
        >
          {t.browser.restoreThis}
        </Button>
        <Button
          look="primary"
          icon={<Download size={15} aria-hidden="true" />}
          aria-keyshortcuts="D"
          onClick={() => onDownload(file)}
        >
          {t.browser.download}
        </Button>
      </div>
      <section aria-labelledby="versions-title">
        <h3 id="versions-title">
          {t.browser.versions}
          {versions.data !== undefined && <span>{t.browser.versionCount(versions.data.length)}</span>}
        </h3>
        <QueryView query={versions} lines={4}>
          {(list) => (
            <ol className="versions">
              {list.map((version) => (
                <Version key={version.first_snapshot.id} version={version} snapshot={snapshot} file={file} />
              ))}
            </ol>
          )}
        </QueryView>
      </section>
      {entry !== undefined && <Details entry={entry} snapshot={snapshot} />}
    </aside>
  );
}

function Details({ entry, snapshot }: { readonly entry: TreeEntry; readonly snapshot: Snapshot }) {
  return (
    <section className="file-details" aria-labelledby="file-details-title">
      <h3 id="file-details-title">{t.browser.details}</h3>
      <dl>
        <dt>{t.browser.source}</dt>
        <dd>
          <ShownName name={snapshot.source.name} />
        </dd>
        <dt>{t.browser.changed}</dt>
        <dd>{dayAndTime(entry.mtime)}</dd>
        <dt>{t.browser.mode}</dt>
        <dd className="mono">{entry.mode}</dd>
        {entry.sha256 !== undefined && (
          <>
            <dt>{t.browser.hash}</dt>
            <dd className="mono">
              {entry.sha256.slice(0, 8)}…{entry.sha256.slice(-8)} <CopyButton text={entry.sha256} />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

interface VersionProps {
  readonly version: FileVersion;
  readonly snapshot: Snapshot;
  readonly file: string;
}

/** A version is the one of the open snapshot when the snapshot lies between its first and its last. */
function Version({ version, snapshot, file }: VersionProps) {
  const { first_snapshot: first, last_snapshot: last } = version;
  const isChosen = first.created_at <= snapshot.created_at && snapshot.created_at <= last.created_at;
  return (
    <li className={isChosen ? "version version-chosen" : "version"}>
      <div>
        <strong>{dayAndTime(first.created_at)}</strong>
        <span>{version.size_bytes === null ? "" : size(version.size_bytes)}</span>
      </div>
      {isChosen ? (
        <span className="tag tag-running">{t.browser.chosen}</span>
      ) : (
        <ButtonLink
          size="small"
          to="/app/snapshots/$id"
          params={{ id: last.id }}
          search={{ path: folderOf(file), file }}
          aria-label={`${t.browser.show}: ${dayAndTime(first.created_at)}`}
        >
          {t.browser.show}
        </ButtonLink>
      )}
    </li>
  );
}
