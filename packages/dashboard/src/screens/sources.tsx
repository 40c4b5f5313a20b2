/** Sources and devices: what is backed up how often and whether it came, and the machines that send it. */

import type { Agent, Source } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Server } from "lucide-react";
import { useMemo, useState } from "react";
import { agentsQuery, sourcesQuery, vaultsQuery } from "../api/queries.ts";
import { rolesWith, useRights } from "../api/rights.ts";
import { count, folded } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { Segments } from "../parts/segments.tsx";
import { Empty, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { ConnectDialog, InstallSteps } from "./agent-connect.tsx";
import { AgentList } from "./agents.tsx";
import { freshnessOf, SourceTable, sortedSources } from "./source-table.tsx";

export function Sources() {
  const { may, whyNot } = useRights();
  const isReader = may("snapshots:read");
  const sources = useQuery({ ...sourcesQuery, enabled: isReader });
  const agents = useQuery({ ...agentsQuery, enabled: isReader });
  const [isConnecting, setConnecting] = useState(false);
  const connect = (
    <Button
      look="primary"
      icon={<Plus size={16} aria-hidden="true" />}
      unavailable={whyNot("snapshots:write")}
      onClick={() => setConnecting(true)}
    >
      {t.sources.connect}
    </Button>
  );
  return (
    <Screen title={t.sources.title} actions={connect}>
      {isReader ? (
        <QueryView query={sources} lines={10}>
          {(list) => (
            <QueryView query={agents} lines={4}>
              {(machines) =>
                list.length === 0 && machines.length === 0 ? (
                  <FirstDevice />
                ) : (
                  <Content sources={list} agents={machines} />
                )
              }
            </QueryView>
          )}
        </QueryView>
      ) : (
        <NoPermission roles={rolesWith("snapshots:read")} />
      )}
      {isConnecting && <ConnectDialog onClose={() => setConnecting(false)} />}
    </Screen>
  );
}

function FirstDevice() {
  return (
    <section className="card first-device">
      <Server size={28} aria-hidden="true" />
      <h2>{t.sources.empty}</h2>
      <p className="lead">{t.sources.emptyDetail}</p>
      <InstallSteps />
    </section>
  );
}

interface ContentProps {
  readonly sources: readonly Source[];
  readonly agents: readonly Agent[];
}

function Content({ sources, agents }: ContentProps) {
  return (
    <div className="sources">
      <Answer sources={sources} agents={agents} />
      <div className="sources-columns">
        <SourceList sources={sources} />
        <AgentList agents={agents} />
      </div>
    </div>
  );
}

/** The sentence first: whether every source is as new as it should be. */
function Answer({ sources, agents }: ContentProps) {
  const amount = (state: string) => sources.filter(({ freshness }) => freshness === state).length;
  const [good, late, never] = [amount("ok"), amount("late"), amount("never")];
  const rest = [...(late > 0 ? [t.sources.late(late)] : []), ...(never > 0 ? [t.sources.never(never)] : [])];
  const online = agents.filter((agent) => agent.online).length;
  const devices = agents.length === 0 ? t.sources.noDevicesYet : t.sources.devicesOnline(agents.length, online);
  return (
    <section className="card taxpayer-answer">
      <Glyph status={late > 0 ? "late" : never > 0 || sources.length === 0 ? "none" : "ok"} size={28} />
      <div>
        <h2>
          {good === sources.length && good > 0
            ? t.sources.freshAll(sources.length)
            : t.sources.fresh(sources.length, good)}
        </h2>
        <p>{[...rest, devices].join(" · ")}</p>
      </div>
    </section>
  );
}

const states = ["all", "late", "never", "ok"] as const;

function SourceList({ sources }: { readonly sources: readonly Source[] }) {
  const { state = "all", q = "" } = useSearch({ from: "/app/sources" });
  const navigate = useNavigate({ from: "/app/sources" });
  const { data: vaults = [] } = useQuery(vaultsQuery);
  const names = useMemo(() => new Map(vaults.map(({ id, name }) => [id, name])), [vaults]);
  // Sorted and folded once, and not again at every letter of the filter.
  const rows = useMemo(() => sortedSources(sources, names), [sources, names]);
  const chosen = states.find((one) => one === state) ?? "all";
  const set = (part: { state?: string; q?: string }) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const wanted = folded(q);
  const shown = rows.filter(
    ({ source, texts }) =>
      (chosen === "all" || source.freshness === chosen) && texts.some((text) => text.includes(wanted)),
  );
  return (
    <section className="card" aria-labelledby="sources-title">
      <header className="card-header">
        <h2 id="sources-title">{t.sources.list}</h2>
        <Segments
          label={t.sources.state}
          value={chosen}
          onValue={(value) => set({ state: value })}
          options={states.map((value) => ({ value, text: <FilterText value={value} sources={sources} /> }))}
        />
        <SearchField label={t.sources.filter} value={q} onValue={(value) => set({ q: value })} />
      </header>
      {shown.length === 0 ? (
        <Empty title={t.sources.noMatch}>
          <Button onClick={() => set({ state: "all", q: "" })}>{t.sources.clear}</Button>
        </Empty>
      ) : (
        <SourceTable rows={shown} />
      )}
    </section>
  );
}

interface FilterTextProps {
  readonly value: (typeof states)[number];
  readonly sources: readonly Source[];
}

function FilterText({ value, sources }: FilterTextProps) {
  if (value === "all")
    return (
      <>
        {t.sources.all} <span className="count">{count(sources.length)}</span>
      </>
    );
  return (
    <>
      <Glyph status={freshnessOf(value)} size={13} /> {t.sources.states[value]}
      <span className="count">{count(sources.filter(({ freshness }) => freshness === value).length)}</span>
    </>
  );
}
