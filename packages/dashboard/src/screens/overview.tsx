/** Overview: how last night went, what waits for the person, what is stored, what happened. */

import type { Nights } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Moon, Plus, RotateCcw } from "lucide-react";
import { useState } from "react";
import { type NightBoard as NightData, nightsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { NightBoard } from "../charts/night-chart.tsx";
import { clock, dayOfMonth, fullDay } from "../format.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { Glyph, type Status, statusOf } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { NoPermission, QueryView } from "../parts/states.tsx";
import { now } from "../platform.ts";
import { searchIsOpen } from "../shell/keys.ts";
import { Screen } from "../shell/screen.tsx";
import { boardDays } from "../shell/side-bar.tsx";
import { t } from "../strings/index.ts";
import { Checklist } from "./overview-checklist.tsx";
import { Figures } from "./overview-figures.tsx";
import { Recent } from "./overview-recent.tsx";
import { StoredChart } from "./overview-stored.tsx";
import { Waiting } from "./overview-waiting.tsx";

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
            {(night) => (night.rows.length === 0 ? <Checklist /> : <Night night={night} />)}
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

function countsOf({ rows }: NightData): Counts {
  const counts = { ok: 0, unchanged: 0, failed: 0, late: 0, running: 0, none: 0 };
  for (const { states } of rows) counts[statusOf(states.at(-1))] += 1;
  return counts;
}

/** "127 mükelleften 123’ü yedeklendi": taxpayers where there are any, else sources. */
function sentenceOf(night: NightData, counts: Counts): string {
  const done = counts.ok + counts.unchanged;
  const all = night.rows.length;
  const isOffice = night.rows.some(({ taxpayer_id: id }) => id !== null);
  const words = isOffice
    ? { some: t.overview.backedUp, all: t.overview.backedUpAll }
    : { some: t.overview.sourcesBackedUp, all: t.overview.sourcesBackedUpAll };
  return done === all ? words.all(all) : words.some(all, done);
}

function Night({ night }: { readonly night: NightData }) {
  const counts = countsOf(night);
  const sentence = sentenceOf(night, counts);
  const [isTable, setTable] = useState(false);
  const navigate = useNavigate();
  const isOffice = night.rows.some(({ taxpayer_id: id }) => id !== null);
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
        <p className="night-rest">{t.overview.rest(counts)}</p>
        {isTable ? (
          <NightTable night={night} />
        ) : (
          <NightBoard rows={night.rows} label={sentence} onOpen={(row) => void navigate(placeOf(row))} />
        )}
        <Legend counts={counts} isOffice={isOffice} isTable={isTable} onTable={() => setTable(!isTable)} />
      </div>
      <Waiting night={night} />
    </section>
  );
}

/** A taxpayer's own screen; a source has none, so the list of what went wrong. */
function placeOf({ taxpayer_id: id }: Nights) {
  return id === null ? ({ to: "/" } as const) : ({ to: "/app/taxpayers/$id", params: { id } } as const);
}

interface LegendProps {
  readonly counts: Counts;
  readonly isOffice: boolean;
  readonly isTable: boolean;
  readonly onTable: () => void;
}

function Legend({ counts, isOffice, isTable, onTable }: LegendProps) {
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
      <span className="legend-note">{isOffice ? t.overview.eachSquare : t.overview.eachSquareSource}</span>
    </div>
  );
}

function NightTable({ night }: { readonly night: NightData }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls, also with the keyboard
    <section className="scroll-box" tabIndex={0} aria-label={t.table}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t.nav.taxpayers}</th>
            <th scope="col">{t.overview.day}</th>
          </tr>
        </thead>
        <tbody>
          {night.rows.map((row) => {
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
