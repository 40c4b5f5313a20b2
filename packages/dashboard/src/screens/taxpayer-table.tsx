/** The table of taxpayers: status in words, last backup, size, and 30 nights as a row of cells. On a phone cards. */

import { Link } from "@tanstack/react-router";
import type { Ref } from "react";
import { HeatRow, heatWidth } from "../charts/heat-row.tsx";
import { addDays, recently, shortDay, size } from "../format.ts";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { SpaceRow, useLongRows } from "../parts/long-rows.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { t } from "../strings/index.ts";
import type { TaxpayerRow } from "./taxpayer-rows.ts";

interface TableProps {
  readonly rows: readonly TaxpayerRow[];
  readonly from: string;
  readonly to: string;
}

const rowHeight = 42;
const columns = 6;

export function TaxpayerTable({ rows, from, to }: TableProps) {
  const long = useLongRows<HTMLTableSectionElement, HTMLTableRowElement>(rows.length, rowHeight);
  return (
    <table className="table card-table taxpayers-table" aria-rowcount={rows.length + 1}>
      <thead>
        <tr>
          <th scope="col">{t.taxpayers.status}</th>
          <th scope="col">{t.taxpayers.name}</th>
          <th scope="col">{t.taxpayers.source}</th>
          <th scope="col">{t.taxpayers.last}</th>
          <th scope="col" className="number">
            {t.taxpayers.size}
          </th>
          <th scope="col">
            <span className="sr-only">{t.taxpayers.nights}</span>
            <NightLabels from={from} to={to} nights={rows[0]?.states.length ?? 0} />
          </th>
        </tr>
      </thead>
      <tbody ref={long.list}>
        <SpaceRow height={long.above} columns={columns} />
        {long.shown.map((index) => {
          const row = rows[index];
          return row === undefined ? null : (
            <Row key={row.taxpayer.id} row={row} from={from} index={index} measure={long.measure} />
          );
        })}
        <SpaceRow height={long.below} columns={columns} />
      </tbody>
    </table>
  );
}

/** Dates above the cells, about a week apart. */
function NightLabels({ from, to, nights }: { readonly from: string; readonly to: string; readonly nights: number }) {
  const labels = [0, 8, 15, 22].filter((at) => at < nights - 4);
  return (
    <span className="night-labels" style={{ width: heatWidth(Math.max(nights, 1)) }} aria-hidden="true">
      {labels.map((at) => (
        <span key={at} style={{ left: at * 14 }}>
          {shortDay(`${addDays(from, at)}T09:00:00Z`)}
        </span>
      ))}
      <strong>{to === "" ? "" : t.taxpayers.tonight}</strong>
    </span>
  );
}

const shownState: Readonly<Record<Status, Status>> = {
  ...{ ok: "ok", unchanged: "ok", failed: "failed", late: "late", running: "running", none: "none" },
};

interface RowProps {
  readonly row: TaxpayerRow;
  readonly from: string;
  readonly index: number;
  readonly measure: Ref<HTMLTableRowElement> | undefined;
}

function Row({ row: { taxpayer, status, states, sources }, from, index, measure }: RowProps) {
  const shown = shownState[status];
  const amount = (wanted: readonly string[]) => states.filter((state) => wanted.includes(state)).length;
  const label = t.taxpayers.nightsText(amount(["ok", "unchanged"]), amount(["late"]), amount(["failed"]));
  const [first, ...others] = sources;
  return (
    <tr ref={measure} data-index={index}>
      <td className={`status status-${shown}`}>
        <Glyph status={shown} size={15} /> {t.night[status]}
      </td>
      <th scope="row">
        <Link to="/app/taxpayers/$id" params={{ id: taxpayer.id }} className="row-link">
          <ShownName name={taxpayer.name} />
        </Link>{" "}
        <span className="tax-id">{taxpayer.tax_id}</span>
      </th>
      <td className="source-cell">
        {first !== undefined && (
          <span className="chip">
            <ShownName name={first.name} />
            {others.length > 0 && ` +${others.length}`}
          </span>
        )}
      </td>
      <td className={shown === "failed" ? "last last-failed" : "last"}>
        {taxpayer.last_good_at === null ? t.taxpayers.never : recently(taxpayer.last_good_at)}
      </td>
      <td className="number">{taxpayer.size_bytes === null ? "–" : size(taxpayer.size_bytes)}</td>
      <td className="heat-cell-box">
        <HeatRow states={states} from={from} label={label} />
      </td>
    </tr>
  );
}
