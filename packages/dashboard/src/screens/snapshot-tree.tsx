/** The entries of one folder as a table: only the rows in view are in the page when there are many. */

import type { Snapshot, TreeEntry } from "@emanet/client/source";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  ChevronRight,
  Download,
  File,
  FileArchive,
  FileCode,
  FileSpreadsheet,
  FileText,
  Folder,
  HardDrive,
  Link2,
  Plus,
  RefreshCw,
  RotateCcw,
} from "lucide-react";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { changesQuery, foldedName, treeQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { day, folded, shortDay, size } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { overscan, SpaceRow, virtualFrom } from "../parts/long-rows.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Empty, QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";

export interface Chosen {
  readonly path: string;
  readonly isFile: boolean;
  readonly bytes: number;
}

interface TreeProps {
  readonly snapshot: Snapshot;
  readonly path: string;
  readonly file: string | undefined;
  readonly chosen: readonly Chosen[];
  readonly onChosen: (chosen: readonly Chosen[]) => void;
  readonly onOpen: (next: { path?: string; file?: string }) => void;
  readonly onDownload: (entry: Chosen) => void;
  readonly onRestore: () => void;
}

const chosenOf = (entry: TreeEntry): Chosen => ({
  ...{ path: entry.path, isFile: entry.type === "file", bytes: entry.size_bytes ?? 0 },
});

export function Tree(props: TreeProps) {
  const { snapshot, path, chosen, onChosen, onOpen, onDownload, onRestore } = props;
  const [filter, setFilter] = useState("");
  const tree = useInfiniteQuery(treeQuery(snapshot.id, path));
  const wanted = useDeferredValue(folded(filter.trim()));
  // A filter is about the whole folder: what is not here yet is read, page by page. The first page is short, so the next one follows.
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = tree;
  const isSearching = wanted !== "" && hasNextPage;
  const isReading = isSearching || (hasNextPage && tree.data?.pages.length === 1);
  useEffect(() => {
    if (isReading && !isFetchingNextPage) void fetchNextPage();
  }, [isReading, isFetchingNextPage, fetchNextPage]);
  const { whyNot } = useRights();
  const [only] = chosen;
  const bytes = chosen.reduce((sum, entry) => sum + entry.bytes, 0);
  return (
    <>
      <div className="tree-bar">
        <PathBar path={path} onOpen={onOpen} />
        <SearchField label={t.browser.filter} value={filter} onValue={setFilter} />
      </div>
      <QueryView query={tree} lines={10}>
        {({ pages }) => {
          const all = pages.flatMap(({ data }) => data);
          const shown = wanted === "" ? all : all.filter((entry) => foldedName(entry).includes(wanted));
          return (
            <>
              {isSearching && (
                <p className="tree-note" role="status">
                  {t.browser.searched(all.length)}
                </p>
              )}
              {shown.length > 0 ? (
                <Rows {...props} entries={shown} loadMore={hasNextPage ? () => void fetchNextPage() : null} />
              ) : (
                !isSearching && <Empty title={all.length === 0 ? t.browser.empty : t.browser.noMatch} />
              )}
            </>
          );
        }}
      </QueryView>
      {only !== undefined && (
        <div className="selection" role="status">
          <strong>{t.browser.selected(chosen.length)}</strong>
          {bytes > 0 && <span>{size(bytes)}</span>}
          <button type="button" className="text-button" onClick={() => onChosen([])}>
            {t.browser.clear}
          </button>
          {chosen.length === 1 && (
            <Button icon={<Download size={15} aria-hidden="true" />} onClick={() => onDownload(only)}>
              {only.isFile ? t.browser.download : t.browser.zip}
            </Button>
          )}
          <Button
            look="primary"
            icon={<RotateCcw size={15} aria-hidden="true" />}
            unavailable={whyNot("restores:write")}
            onClick={onRestore}
          >
            {t.browser.restore}
          </Button>
        </div>
      )}
    </>
  );
}

function PathBar({ path, onOpen }: Pick<TreeProps, "path" | "onOpen">) {
  const parts = path.split("/").filter((part) => part !== "");
  const steps = parts.map((name, at) => ({ name, path: parts.slice(0, at + 1).join("/") }));
  return (
    <nav className="path-bar" aria-label={t.browser.path}>
      <button type="button" onClick={() => onOpen({ path: "" })}>
        <HardDrive size={15} aria-hidden="true" />
        <span className={steps.length > 0 ? "sr-only" : ""}>{t.browser.root}</span>
      </button>
      {steps.map((step, at) => (
        <span key={step.path}>
          <ChevronRight size={13} aria-hidden="true" />
          <button
            type="button"
            aria-current={at === steps.length - 1 ? "true" : undefined}
            onClick={() => onOpen({ path: step.path })}
          >
            <ShownName name={step.name} />
          </button>
        </span>
      ))}
    </nav>
  );
}

interface RowsProps extends TreeProps {
  readonly entries: readonly TreeEntry[];
  readonly loadMore: (() => void) | null;
}

const rowHeight = 40;
const columns = 5;

function Rows({ entries, loadMore, ...props }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const { data: changes } = useQuery(changesQuery(props.snapshot.id));
  const isLong = entries.length > virtualFrom;
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan,
    enabled: isLong,
  });
  const items = isLong ? rows.getVirtualItems() : entries.map((_, index) => ({ index, start: index * rowHeight }));
  const [first, last] = [items[0], items.at(-1)];
  const before = isLong ? (first?.start ?? 0) : 0;
  const after = isLong ? rows.getTotalSize() - (last === undefined ? 0 : last.start + rowHeight) : 0;
  const isNearEnd = (last?.index ?? 0) >= entries.length - overscan;
  useEffect(() => {
    if (isNearEnd) loadMore?.();
  }, [isNearEnd, loadMore]);
  const changeOf = ({ path }: TreeEntry): string | null => {
    if (changes === undefined || !changes.hasBefore) return null;
    return changes.changes.get(path) ?? (changes.isWhole ? "same" : null);
  };
  return (
    <div ref={box} className="tree-box">
      <table className="table tree" aria-rowcount={entries.length}>
        <thead>
          <tr>
            <th scope="col">
              <span className="sr-only">{t.browser.selectAll}</span>
            </th>
            <th scope="col">{t.browser.name}</th>
            <th scope="col">{t.browser.since}</th>
            <th scope="col" className="number">
              {t.browser.size}
            </th>
            <th scope="col" className="number">
              {t.browser.changed}
            </th>
          </tr>
        </thead>
        <tbody>
          <SpaceRow height={before} columns={columns} />
          {items.map(({ index }) => {
            const entry = entries[index];
            return entry === undefined ? null : (
              <Row key={entry.path_base64 ?? entry.path} entry={entry} change={changeOf(entry)} {...props} />
            );
          })}
          <SpaceRow height={after} columns={columns} />
        </tbody>
      </table>
    </div>
  );
}

interface RowProps extends TreeProps {
  readonly entry: TreeEntry;
  readonly change: string | null;
}

function Row({ entry, change, file, chosen, onChosen, onOpen }: RowProps) {
  const isChosen = chosen.some(({ path }) => path === entry.path);
  const isFolder = entry.type === "directory";
  const toggle = () =>
    onChosen(isChosen ? chosen.filter(({ path }) => path !== entry.path) : [...chosen, chosenOf(entry)]);
  return (
    <tr className={entry.path === file ? "row-open" : ""}>
      <td>
        <input
          type="checkbox"
          checked={isChosen}
          onChange={toggle}
          aria-label={t.browser.select(visibleName(entry.name))}
        />
      </td>
      <th scope="row">
        <button
          type="button"
          className="entry"
          onClick={() => onOpen(isFolder ? { path: entry.path } : { file: entry.path })}
        >
          <EntryIcon entry={entry} />
          <ShownName name={entry.name} />
        </button>
      </th>
      <td>
        <ChangeText change={change} />
      </td>
      <td className="number">
        {entry.size_bytes === null ? (isFolder ? t.browser.folder : "–") : size(entry.size_bytes)}
      </td>
      <td className="number" title={day(entry.mtime)}>
        {shortDay(entry.mtime)}
      </td>
    </tr>
  );
}

function ChangeText({ change }: { readonly change: string | null }) {
  if (change === "added")
    return (
      <span className="change change-new">
        <Plus size={13} aria-hidden="true" /> {t.browser.isNew}
      </span>
    );
  if (change === "changed")
    return (
      <span className="change change-changed">
        <RefreshCw size={12} aria-hidden="true" /> {t.browser.isChanged}
      </span>
    );
  return <span className="change">{change === null ? "" : t.browser.isSame}</span>;
}

const icons: readonly (readonly [RegExp, typeof File])[] = [
  [/\.(?:xml|json|html?|css|js)$/i, FileCode],
  [/\.(?:zip|tar|gz|7z|rar|bak)$/i, FileArchive],
  [/\.(?:xlsx?|csv|ods)$/i, FileSpreadsheet],
  [/\.(?:pdf|docx?|txt|odt|rtf)$/i, FileText],
];

export function EntryIcon({ entry: { type, name } }: { readonly entry: Pick<TreeEntry, "type" | "name"> }) {
  if (type === "directory") return <Folder size={16} aria-hidden="true" className="folder-icon" />;
  if (type === "link") return <Link2 size={16} aria-hidden="true" />;
  const Icon = icons.find(([pattern]) => pattern.test(name))?.[1] ?? File;
  return <Icon size={16} aria-hidden="true" />;
}
