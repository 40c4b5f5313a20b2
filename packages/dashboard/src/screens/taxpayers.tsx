/** Taxpayers: who is red, and whether it is a pattern. Filter and search are in the address. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Upload, Users } from "lucide-react";
import { useMemo, useState } from "react";
import { nightsQuery, sourcesQuery, taxpayersQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { count, percent } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { Segments } from "../parts/segments.tsx";
import { Empty, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { boardDays } from "../shell/side-bar.tsx";
import { t } from "../strings/index.ts";
import { AddTaxpayer } from "./taxpayer-add.tsx";
import { ImportTaxpayers } from "./taxpayer-import.tsx";
import { type Filter, filters, isIn, matches, rowsOf, successOf, type TaxpayerRow } from "./taxpayer-rows.ts";
import { TaxpayerTable } from "./taxpayer-table.tsx";

type Opened = "add" | "import" | null;

export function Taxpayers() {
  const { may, whyNot } = useRights();
  const [opened, setOpened] = useState<Opened>(null);
  const taxpayers = useQuery({ ...taxpayersQuery, enabled: may("taxpayers:read") });
  const nights = useQuery({ ...nightsQuery(boardDays), enabled: may("taxpayers:read") });
  const { data: sources } = useQuery({ ...sourcesQuery, enabled: may("taxpayers:read") });
  // Sorted once, and not again at every letter of the filter.
  const rows = useMemo(
    () =>
      taxpayers.data === undefined || nights.data === undefined
        ? []
        : rowsOf(taxpayers.data, nights.data, sources ?? []),
    [taxpayers.data, nights.data, sources],
  );
  const why = whyNot("taxpayers:write");
  const add = (
    <Button
      look="primary"
      icon={<Plus size={16} aria-hidden="true" />}
      unavailable={why}
      onClick={() => setOpened("add")}
    >
      {t.taxpayers.add}
    </Button>
  );
  const bring = (
    <Button icon={<Upload size={16} aria-hidden="true" />} unavailable={why} onClick={() => setOpened("import")}>
      {t.taxpayers.import}
    </Button>
  );
  return (
    <Screen
      title={t.taxpayers.title}
      aside={taxpayers.data === undefined ? "" : count(taxpayers.data.length)}
      actions={
        <>
          {bring}
          {add}
        </>
      }
    >
      {may("taxpayers:read") ? (
        <QueryView query={taxpayers} lines={12}>
          {(list) =>
            list.length === 0 ? (
              <Empty
                icon={<Users size={28} aria-hidden="true" />}
                title={t.taxpayers.empty}
                detail={t.taxpayers.emptyDetail}
              >
                {bring}
              </Empty>
            ) : (
              <QueryView query={nights} lines={12}>
                {(night) => <List rows={rows} from={night.from} to={night.to} />}
              </QueryView>
            )
          }
        </QueryView>
      ) : (
        <NoPermission roles={["owner", "manager", "operator", "viewer"]} />
      )}
      {opened === "add" && <AddTaxpayer onClose={() => setOpened(null)} />}
      {opened === "import" && <ImportTaxpayers onClose={() => setOpened(null)} />}
    </Screen>
  );
}

interface ListProps {
  readonly rows: readonly TaxpayerRow[];
  readonly from: string;
  readonly to: string;
}

function List({ rows, from, to }: ListProps) {
  const { state = "all", q = "" } = useSearch({ from: "/app/taxpayers" });
  const navigate = useNavigate({ from: "/app/taxpayers" });
  const set = (part: { state?: Filter; q?: string }) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const shown = rows.filter((row) => isIn(state, row) && matches(q, row));
  const success = successOf(rows);
  return (
    <>
      <div className="filter-bar">
        <Segments
          label={t.taxpayers.status}
          value={state}
          onValue={(value) => set({ state: value })}
          options={filters.map((filter) => ({ value: filter, text: <FilterText filter={filter} rows={rows} /> }))}
        />
        <SearchField label={t.taxpayers.search} value={q} onValue={(value) => set({ q: value })} />
      </div>
      {shown.length === 0 ? (
        <div className="card">
          <Empty title={t.taxpayers.noMatch}>
            <Button onClick={() => set({ state: "all", q: "" })}>{t.taxpayers.clear}</Button>
          </Empty>
        </div>
      ) : (
        <div className="card taxpayers-card">
          <TaxpayerTable rows={shown} from={from} to={to} />
          <footer className="heat-legend">
            <HeatLegend />
            <span>
              {success !== null && t.taxpayers.success(percent(success))}
              <span className="count">
                {count(shown.length)} / {count(rows.length)}
              </span>
            </span>
          </footer>
        </div>
      )}
    </>
  );
}

const filterStatus: Readonly<Record<Exclude<Filter, "all">, Status>> = {
  ...{ failed: "failed", late: "late", running: "running", ok: "ok" },
};

function FilterText({ filter, rows }: { readonly filter: Filter; readonly rows: readonly TaxpayerRow[] }) {
  const amount = rows.filter((row) => isIn(filter, row)).length;
  return (
    <>
      {filter !== "all" && <Glyph status={filterStatus[filter]} size={14} />}
      {filter === "all" ? t.taxpayers.all : t.night[filterStatus[filter]]}
      <span className="count">{count(amount)}</span>
    </>
  );
}

function HeatLegend() {
  return (
    <ul>
      {(["ok", "unchanged", "late", "failed"] as const).map((status) => (
        <li key={status}>
          <span className={`heat-key heat-key-${status}`} aria-hidden="true" />
          {t.night[status]}
        </li>
      ))}
      <li>
        <span className="heat-key heat-key-none" aria-hidden="true" />
        {t.taxpayers.noSource}
      </li>
    </ul>
  );
}
