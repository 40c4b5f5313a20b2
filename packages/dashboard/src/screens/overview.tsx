/** Overview: how last night went, what waits for the person, what is stored, what happened. */

import type { Nights } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Moon, Plus, RotateCcw } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { type NightBoard as NightData, nightsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { NightBoard } from "../charts/night-chart.tsx";
import { clock, dayOfMonth, fullDay } from "../format.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { Glyph, type Status, statusOf } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { NoPermission, QueryView } from "../parts/states.tsx";
import { now, remembered } from "../platform.ts";
import { searchIsOpen } from "../shell/keys.ts";
import { Screen } from "../shell/screen.tsx";
import { boardDays } from "../shell/side-bar.tsx";
import { t } from "../strings/index.ts";
import { Figures } from "./overview-figures.tsx";
import { Recent } from "./overview-recent.tsx";
import { StoredChart } from "./overview-stored.tsx";
import { Waiting } from "./overview-waiting.tsx";

/** Loaded in the first days only. */
const Checklist = lazy(async () => ({ default: (await import("./overview-checklist.tsx")).Checklist }));

export function Overview() {
  const { may, whyNot } = useRights();
  const nights = useQuery({ ...nightsQuery(boardDays), enabled: may("snapshots:read") });
  return (
    <Screen
      title={t.nav.overview}
      aside={<span className="hide-narrow">{fullDay(now())}</span>}
      actions={
        may("snapshots:read") && (
          <>
            <ButtonLink to="/app/sources" icon={<Plus size={16} aria-hidden="true" />} className="hide-narrow">
              {t.overview.addSource}
            </ButtonLink>
            <Button
              look="primary"
              icon={<RotateCcw size={16} aria-hidden="true" />}
              unavailable={whyNot("restores:write")}
              onClick={() => searchIsOpen.set(true)}
            >
              {t.overview.restore}
            </Button>
          </>
        )
      }
    >
      {may("snapshots:read") ? (
        <div className="overview">
          <QueryView query={nights} lines={6} height={300}>
            {(night) => (
              <>
                {(night.rows.length === 0 || remembered("started") === null) && (
                  <Suspense>
                    <Checklist night={night} />
                  </Suspense>
                )}
                {night.rows.length > 0 && <Night night={night} />}
              </>
            )}
          </QueryView>
          <Figures />
          <div className="overview-lower">
            <StoredChart />
            <Recent />
          </div>
        </div>
      ) : (
        <NoPermission roles={["owner", "manager", "operator", "viewer"]} />
      )}
    </Screen>
  );
}

const shownStates = ["ok", "unchanged", "failed", "late", "running"] as const;

type Counts = Readonly<Record<Status, number>>;

function countsOf(rows: readonly Nights[]): Counts {
  const counts = { ok: 0, unchanged: 0, failed: 0, late: 0, running: 0, none: 0 };
  for (const { states } of rows) counts[statusOf(states.at(-1))] += 1;
  return counts;
}

/** In an office the mükellef is the unit. A source of the office itself is none, and is counted apart. */
interface Parts {
  readonly isOffice: boolean;
  readonly units: readonly Nights[];
  readonly others: readonly Nights[];
}

function partsOf({ rows }: NightData): Parts {
  const [units, others] = [rows.filter(isOfTaxpayer), rows.filter((row) => !isOfTaxpayer(row))];
  return units.length > 0 ? { isOffice: true, units, others } : { isOffice: false, units: others, others: [] };
}

const isOfTaxpayer = ({ taxpayer_id: id }: Nights): boolean => id !== null;

const doneOf = ({ ok, unchanged }: Counts): number => ok + unchanged;

/** "127 mükelleften 123’ü yedeklendi": taxpayers where there are any, else sources. */
function sentenceOf(isOffice: boolean, all: number, counts: Counts): string {
  const words = isOffice
    ? { some: t.overview.backedUp, all: t.overview.backedUpAll }
    : { some: t.overview.sourcesBackedUp, all: t.overview.sourcesBackedUpAll };
  return doneOf(counts) === all ? words.all(all) : words.some(all, doneOf(counts));
}

function Night({ night }: { readonly night: NightData }) {
  const { isOffice, units, others } = partsOf(night);
  const counts = countsOf(units);
  const sentence = sentenceOf(isOffice, units.length, counts);
  const apart = others.length === 0 ? "" : ` ${t.overview.othersBackedUp(others.length, doneOf(countsOf(others)))}`;
  const rows = [...units, ...others];
  const [isTable, setTable] = useState(false);
  const navigate = useNavigate();
  return (
    <section className="card night" aria-labelledby="night-title">
      <div className="night-main">
        <p className="caption">
          <Moon size={14} aria-hidden="true" />
          {t.overview.tonight(`${dayOfMonth(`${night.to}T09:00:00Z`)} 00:00`, clock(now()))}
        </p>
        <h2 id="night-title" className="display">
          {sentence}
        </h2>
        <p className="night-rest">
          {t.overview.rest(counts)}
          {apart}
        </p>
        {isTable ? (
          <NightTable rows={rows} isOffice={isOffice} />
        ) : (
          <NightBoard rows={rows} label={sentence + apart} onOpen={(row) => void navigate(placeOf(row))} />
        )}
        <Legend
          counts={countsOf(rows)}
          note={noteOf(isOffice, others.length)}
          isTable={isTable}
          onTable={() => setTable(!isTable)}
        />
      </div>
      <Waiting night={night} />
    </section>
  );
}

/** A taxpayer's own screen; a source has none, so the list of sources. */
function placeOf({ taxpayer_id: id }: Nights) {
  return id === null ? ({ to: "/app/sources" } as const) : ({ to: "/app/taxpayers/$id", params: { id } } as const);
}

function noteOf(isOffice: boolean, others: number): string {
  if (!isOffice) return t.overview.eachSquareSource;
  return others === 0 ? t.overview.eachSquare : t.overview.eachSquareAnd(others);
}

interface LegendProps {
  readonly counts: Counts;
  readonly note: string;
  readonly isTable: boolean;
  readonly onTable: () => void;
}

function Legend({ counts, note, isTable, onTable }: LegendProps) {
  const states = counts.none > 0 ? [...shownStates, "none" as const] : shownStates;
  return (
    <div className="legend">
      <ul>
        {states.map((status) => (
          <li key={status}>
            <span className={`legend-square legend-${status}`} aria-hidden="true" />
            {t.night[status]}
          </li>
        ))}
      </ul>
      <button type="button" className="text-button quiet" onClick={onTable} aria-pressed={isTable}>
        {isTable ? t.chart : t.table}
      </button>
      <span className="legend-note">{note}</span>
    </div>
  );
}

function NightTable({ rows, isOffice }: { readonly rows: readonly Nights[]; readonly isOffice: boolean }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls, also with the keyboard
    <section className="scroll-box" tabIndex={0} aria-label={t.table}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{isOffice ? t.nav.taxpayers : t.nav.sourcesOnly}</th>
            <th scope="col">{t.overview.day}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const status = statusOf(row.states.at(-1));
            return (
              <tr key={row.taxpayer_id ?? row.source_id}>
                <th scope="row">
                  <ShownName name={row.name} />
                </th>
                <td>
                  <Glyph status={status} size={14} /> {t.night[status]}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
