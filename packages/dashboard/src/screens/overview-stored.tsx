/** Stored data against the size of the files, over 30 days, 90 days or a year, as a chart or as a table. */

import type { UsageTotal } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { queries } from "../api/client.ts";
import { usageTotalQuery } from "../api/queries.ts";
import { AreaChart, type Point } from "../charts/area-chart.tsx";
import { addDays, day, size, today } from "../format.ts";
import { Segments } from "../parts/segments.tsx";
import { QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";

const ranges = { "30": 30, "90": 90, "365": 365 } as const;
type Range = keyof typeof ranges;

/** Longer ranges than the first are read together, after it: a click shows what is there already. */
const queryOf = (range: Range) => usageTotalQuery(range === "30" ? ranges[range] : ranges[365]);

function pointsOf({ days }: UsageTotal, range: Range): Point[] {
  const first = addDays(today(), 1 - ranges[range]);
  return days.flatMap(({ day: key, stored_bytes: stored, size_bytes: files }) =>
    key < first ? [] : [{ day: key, stored, size: files }],
  );
}

export function StoredChart() {
  const [range, setRange] = useState<Range>("30");
  const [isTable, setTable] = useState(false);
  const usage = useQuery(queryOf(range));
  useEffect(() => {
    if (usage.isSuccess) void queries.prefetchQuery(queryOf("365"));
  }, [usage.isSuccess]);
  return (
    <section className="card stored" aria-labelledby="stored-title">
      <header className="card-header">
        <h2 id="stored-title">{t.overview.chart}</h2>
        <span className="key key-size hide-narrow">{t.overview.sizeLine}</span>
        <span className="key key-stored hide-narrow">{t.overview.storedLine}</span>
        <button type="button" className="text-button quiet" onClick={() => setTable(!isTable)} aria-pressed={isTable}>
          {isTable ? t.chart : t.table}
        </button>
        <Segments
          label={t.overview.chart}
          value={range}
          onValue={setRange}
          className="segments-small"
          options={[
            { value: "30", text: t.overview.days30 },
            { value: "90", text: t.overview.days90 },
            { value: "365", text: t.overview.year },
          ]}
        />
      </header>
      <QueryView query={usage} lines={6} height={268}>
        {(total) => <Content points={pointsOf(total, range)} isTable={isTable} />}
      </QueryView>
    </section>
  );
}

function Content({ points, isTable }: { readonly points: readonly Point[]; readonly isTable: boolean }) {
  const last = points.at(-1);
  if (last === undefined || points.every(({ stored }) => stored === 0))
    return <p className="card-empty">{t.overview.chartEmpty}</p>;
  if (!isTable) return <AreaChart points={points} label={t.overview.chartText(size(last.stored), size(last.size))} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls, also with the keyboard
    <section className="scroll-box" tabIndex={0} aria-label={t.table}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t.overview.day}</th>
            <th scope="col">{t.overview.storedLine}</th>
            <th scope="col">{t.overview.sizeLine}</th>
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map((point) => (
            <tr key={point.day}>
              <th scope="row">{day(`${point.day}T09:00:00Z`)}</th>
              <td>{size(point.stored)}</td>
              <td>{size(point.size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
