/**
 * Search over everything (Ctrl K): files by parts of their names, taxpayers, pages. An ARIA combobox: the arrows choose, Enter
 * opens, Ctrl D downloads the newest version of a file.
 */

import type { FoundFile } from "@emanet/client/source";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { File, LayoutDashboard, Search, Users } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useDeferredValue, useId, useState } from "react";
import { downloadPath } from "../api/downloads.ts";
import { searchQuery, taxpayersQuery, vaultsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { day, folded, size } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { ErrorCard } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { placesOf } from "./places.tsx";

interface Hit {
  readonly key: string;
  readonly group: string;
  readonly icon: ReactNode;
  readonly name: string;
  readonly detail: string;
  readonly open: () => void;
  readonly download?: () => void;
}

/** Of each group but files. */
const maxOfGroup = 5;

export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [failure, setFailure] = useState<unknown>(null);
  const id = useId();
  const wanted = useDeferredValue(text.trim());
  const { hits, error } = useHits(wanted, onClose, setFailure);
  const chosen = Math.min(at, hits.length - 1);
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const hit = hits[chosen];
    if (step !== 0) setAt((chosen + step + hits.length) % Math.max(1, hits.length));
    else if (event.key === "Enter") hit?.open();
    else if (event.key === "d" && (event.ctrlKey || event.metaKey)) hit?.download?.();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t.search.title} className="dialog-search" hidesTitle onClose={onClose}>
      <div className="palette-field">
        <Search size={18} aria-hidden="true" />
        <input
          className="palette-input"
          role="combobox"
          aria-expanded={hits.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={hits.length > 0 ? `${id}-${chosen}` : undefined}
          aria-label={t.search.placeholder}
          placeholder={t.search.placeholder}
          maxLength={200}
          value={text}
          autoFocus
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      {(failure ?? error) !== null && <ErrorCard error={failure ?? error} isSmall />}
      <Hits id={id} hits={hits} chosen={chosen} />
      <p className="palette-note" role="status">
        {wanted === "" ? t.search.start : hits.length === 0 ? t.search.none : t.search.hint}
      </p>
    </Dialog>
  );
}

function useHits(wanted: string, onClose: () => void, onFailure: (error: unknown) => void) {
  const { may } = useRights();
  const navigate = useNavigate();
  const { data: found = [], error } = useQuery({
    ...searchQuery(wanted),
    enabled: wanted.length >= 2 && may("snapshots:read"),
    placeholderData: keepPreviousData,
  });
  const { data: taxpayers = [] } = useQuery({ ...taxpayersQuery, enabled: may("taxpayers:read") });
  const { data: vaults = [] } = useQuery({ ...vaultsQuery, enabled: may("snapshots:read") });
  const names = new Map(vaults.map(({ id, name }) => [id, name]));
  const matches = (name: string) => folded(name).includes(folded(wanted));
  const go = (work: Promise<void>) => {
    void work;
    onClose();
  };
  const pages = placesOf(may).flatMap(({ places }) => places);
  const hits: Hit[] = [
    ...(wanted.length < 2 ? [] : found).map((file) => ({
      ...{ key: `${file.source.id}/${file.path}`, group: t.search.files, icon: <File size={16} aria-hidden="true" /> },
      name: file.name,
      detail: detailOf(file, names.get(file.vault_id)),
      open: () =>
        go(navigate({ to: "/app/snapshots/$id", params: { id: file.last_snapshot.id }, search: placeOf(file) })),
      download: () => void downloadPath(file.last_snapshot.id, file.path, file.type === "file").catch(onFailure),
    })),
    ...(wanted === "" ? [] : taxpayers.filter(({ name }) => matches(name)).slice(0, maxOfGroup)).map((one) => ({
      ...{ key: one.id, group: t.search.taxpayers, icon: <Users size={16} aria-hidden="true" /> },
      ...{ name: one.name, detail: one.tax_id },
      open: () => go(navigate({ to: "/app/taxpayers/$id", params: { id: one.id } })),
    })),
    ...pages
      .filter(({ text }) => matches(text))
      .slice(0, maxOfGroup)
      .map(({ to, text }) => ({
        ...{ key: to, group: t.search.pages, icon: <LayoutDashboard size={16} aria-hidden="true" /> },
        ...{ name: text, detail: "" },
        open: () => go(navigate({ to })),
      })),
  ];
  return { hits, error: wanted.length < 2 ? null : error };
}

/** The folder of the file, and the file open; a folder itself. */
function placeOf({ path, type }: FoundFile): { path?: string; file?: string } {
  if (type === "directory") return { path };
  const end = path.lastIndexOf("/");
  return { ...(end > 0 && { path: path.slice(0, end) }), file: path };
}

function detailOf(file: FoundFile, vaultName: string | undefined): string {
  const age = file.is_current ? t.search.current : t.search.until(day(file.last_snapshot.created_at));
  const bytes = file.size_bytes === null ? [] : [size(file.size_bytes)];
  return [vaultName ?? file.source.name, ...bytes, age].join(" · ");
}

interface HitsProps {
  readonly id: string;
  readonly hits: readonly Hit[];
  readonly chosen: number;
}

function Hits({ id, hits, chosen }: HitsProps) {
  return (
    <div id={`${id}-list`} role="listbox" aria-label={t.search.title} className="palette-list">
      {hits.map((hit, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which has the focus
        <div
          key={hit.key}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === chosen}
          tabIndex={-1}
          className={at === chosen ? "hit hit-chosen" : "hit"}
          onClick={hit.open}
        >
          {hit.group !== hits[at - 1]?.group && <span className="hit-group">{hit.group}</span>}
          <span className="hit-line">
            {hit.icon}
            <span className="hit-name">
              <ShownName name={hit.name} />
            </span>
            <span className="hit-detail">
              <ShownName name={hit.detail} />
            </span>
          </span>
        </div>
      ))}
    </div>
  );
}
