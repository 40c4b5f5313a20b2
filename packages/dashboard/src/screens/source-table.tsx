/** The table of sources, and the form that changes one: its name, and how often a backup is expected. */

import type { Source } from "@emanet/client/source";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pencil } from "lucide-react";
import { type FormEvent, type Ref, useState } from "react";
import { client, queries } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { useRights } from "../api/rights.ts";
import { perform } from "../api/step-up.ts";
import { collator, duration, folded, recently, size } from "../format.ts";
import { actMessage, DialogButtons } from "../parts/act-dialogs.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { SpaceRow, useLongRows } from "../parts/long-rows.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";

const freshness: Readonly<Record<string, Status>> = { ok: "ok", late: "late", never: "none" };

export function freshnessOf(state: string): Status {
  return freshness[state] ?? "none";
}

/** Late ones first, then by name. */
const rank: Readonly<Record<string, number>> = { late: 0, never: 1, ok: 2 };

export interface SourceRow {
  readonly source: Source;
  readonly vaultName: string;
  /** What a filter compares: its name and that of its vault. */
  readonly texts: readonly string[];
}

export function sortedSources(
  sources: readonly Source[],
  vaultNames: ReadonlyMap<string, string>,
): readonly SourceRow[] {
  const rows = sources.map((source) => {
    const vaultName = vaultNames.get(source.vault_id) ?? "";
    return { source, vaultName, texts: [folded(source.name), folded(vaultName)] };
  });
  return rows.sort(
    (one, other) =>
      (rank[one.source.freshness] ?? 1) - (rank[other.source.freshness] ?? 1) ||
      collator.compare(one.vaultName, other.vaultName) ||
      collator.compare(one.source.name, other.source.name),
  );
}

const rowHeight = 57;
const columns = 6;

export function SourceTable({ rows: list }: { readonly rows: readonly SourceRow[] }) {
  const [edited, setEdited] = useState<Source | null>(null);
  const rows = useLongRows<HTMLTableSectionElement, HTMLTableRowElement>(list.length, rowHeight);
  return (
    <>
      <table className="table card-table sources-table">
        <thead>
          <tr>
            <th scope="col">{t.sources.state}</th>
            <th scope="col">{t.sources.name}</th>
            <th scope="col">{t.sources.every}</th>
            <th scope="col">{t.sources.last}</th>
            <th scope="col" className="number">
              {t.sources.size}
            </th>
            <th scope="col">
              <span className="sr-only">{t.sources.editTitle}</span>
            </th>
          </tr>
        </thead>
        <tbody ref={rows.list}>
          <SpaceRow height={rows.above} columns={columns} />
          {rows.shown.map((index) => {
            const row = list[index];
            if (row === undefined) return null;
            const { source, vaultName } = row;
            const place = { index, measure: rows.measure };
            const edit = () => setEdited(source);
            return <Row key={source.id} source={source} vaultName={vaultName} onEdit={edit} {...place} />;
          })}
          <SpaceRow height={rows.below} columns={columns} />
        </tbody>
      </table>
      {edited !== null && <EditDialog source={edited} onClose={() => setEdited(null)} />}
    </>
  );
}

interface RowProps {
  readonly source: Source;
  readonly vaultName: string;
  readonly onEdit: () => void;
  readonly index: number;
  readonly measure: Ref<HTMLTableRowElement> | undefined;
}

function Row({ source, vaultName, onEdit, index, measure }: RowProps) {
  const { whyNot } = useRights();
  const why = whyNot("snapshots:write");
  const status = freshnessOf(source.freshness);
  return (
    <tr ref={measure} data-index={index}>
      <td className={`status status-${status}`}>
        <Glyph status={status} size={15} /> {t.sources.states[source.freshness] ?? source.freshness}
      </td>
      <th scope="row">
        <ShownName name={source.name} />
        <span className="cell-note">
          <ShownName name={vaultName} />
        </span>
      </th>
      <td className="every">{everyText(source.expected_every)}</td>
      <td className="last">
        <Last source={source} />
      </td>
      <td className="number">{source.size_bytes === null ? "–" : size(source.size_bytes)}</td>
      <td className="number edit">
        <button
          type="button"
          className="icon-button"
          aria-label={t.sources.edit(visibleName(source.name))}
          aria-disabled={why !== undefined || undefined}
          title={why}
          onClick={why === undefined ? onEdit : undefined}
        >
          <Pencil size={15} aria-hidden="true" />
        </button>
      </td>
    </tr>
  );
}

/** When the last good backup was; of a late source also when the next one was expected. */
function Last({ source }: { readonly source: Source }) {
  const { last_good_at: good, last_snapshot: last, expected_every: every, freshness: state } = source;
  if (good === null) return t.taxpayers.never;
  const text = recently(good);
  const expected = every !== null && state === "late" ? recently(Date.parse(good) + every * 1000) : null;
  return (
    <>
      {last === null ? (
        text
      ) : (
        <Link to="/app/snapshots/$id" params={{ id: last.id }} className="row-link">
          {text}
        </Link>
      )}
      {expected !== null && <span className="cell-note">{t.sources.expectedAt(expected)}</span>}
    </>
  );
}

export function everyText(seconds: number | null): string {
  if (seconds === null) return t.sources.noEvery;
  return t.sources.everies[String(seconds)] ?? duration(seconds * 1000);
}

function EditDialog({ source, onClose }: { readonly source: Source; readonly onClose: () => void }) {
  const [name, setName] = useState(source.name);
  const [every, setEvery] = useState(source.expected_every);
  const work = useMutation({
    mutationFn: () =>
      perform(({ idempotencyKey: _key, ...options }) =>
        client.sources.update({ id: source.id, body: { name, expected_every: every } }, options),
      ),
    onSuccess: async () => {
      onClose();
      await Promise.all(["sources", "nights"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
  const errors = fieldErrors(work.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate();
  };
  const known = Object.keys(t.sources.everies).map(Number);
  // An interval that a program chose stays one of the choices.
  const choices = every === null || known.includes(every) ? known : [...known, every];
  return (
    <Dialog title={t.sources.editTitle} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <FormError text={errors.size === 0 ? actMessage(work.error) : null} />
        <TextField
          label={t.sources.name}
          hint={t.sources.nameHint}
          error={errors.get("/name")}
          required
          maxLength={200}
          value={name}
          onText={setName}
        />
        <Field label={t.sources.every} hint={t.sources.everyHint} error={errors.get("/expected_every")}>
          {(ids) => (
            <select
              {...ids}
              className="input"
              value={String(every ?? "")}
              onChange={(event) => setEvery(event.target.value === "" ? null : Number(event.target.value))}
            >
              <option value="">{t.sources.noEvery}</option>
              {choices.map((seconds) => (
                <option key={seconds} value={seconds}>
                  {everyText(seconds)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <DialogButtons onCancel={onClose} submit={t.save} busy={work.isPending} />
      </form>
    </Dialog>
  );
}
