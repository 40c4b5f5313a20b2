/** Retention and verification: the last verification of each vault, its rules, acts that wait, snapshots with a hold or a lock. */

import type { Vault } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ShieldAlert, ShieldCheck } from "lucide-react";
import { vaultsQuery } from "../api/queries.ts";
import { rolesWith, useRights } from "../api/rights.ts";
import { collator, count, dayAndTime, lower, recently } from "../format.ts";
import { Field } from "../parts/field.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { useLongRows } from "../parts/long-rows.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Empty, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { r } from "../strings/retention.ts";
import { PendingActs } from "./retention-acts.tsx";
import { PolicyCard } from "./retention-policy.tsx";
import { KeptSnapshots } from "./retention-snapshots.tsx";

export function RetentionScreen() {
  const { may } = useRights();
  const vaults = useQuery({ ...vaultsQuery, enabled: may("snapshots:read") });
  return (
    <Screen title={r.title}>
      {may("snapshots:read") ? (
        <QueryView query={vaults} lines={10}>
          {(list) => (list.length === 0 ? <Empty title={r.noVaults} /> : <Content vaults={list} />)}
        </QueryView>
      ) : (
        <NoPermission roles={rolesWith("snapshots:read")} />
      )}
    </Screen>
  );
}

function Content({ vaults }: { readonly vaults: readonly Vault[] }) {
  const { vault: wanted } = useSearch({ from: "/app/retention" });
  const navigate = useNavigate({ from: "/app/retention" });
  const sorted = vaults.toSorted((one, other) => collator.compare(one.name, other.name));
  const chosen = sorted.find(({ id }) => id === wanted) ?? sorted[0];
  if (chosen === undefined) return null;
  return (
    <div className="retention">
      <Answer vaults={vaults} />
      <div className="retention-columns">
        <div className="settings-body">
          <Field label={r.vault}>
            {(ids) => (
              <select
                {...ids}
                className="input"
                value={chosen.id}
                onChange={(event) => void navigate({ search: { vault: event.target.value }, replace: true })}
              >
                {sorted.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {visibleName(name)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <PolicyCard key={chosen.id} vaultId={chosen.id} />
          <KeptSnapshots vaultId={chosen.id} />
        </div>
        <div className="settings-body">
          <PendingActs vaults={vaults} />
          <Verification vaults={sorted} />
        </div>
      </div>
    </div>
  );
}

const isBad = ({ last_verification: last, upkeep }: Vault): boolean =>
  (last !== null && last.failed > 0) || upkeep.damaged_frames > 0;

function Answer({ vaults }: { readonly vaults: readonly Vault[] }) {
  const checked = vaults.flatMap(({ last_verification: last }) => (last === null ? [] : [last]));
  const bad = vaults.filter(isBad).length;
  const files = checked.reduce((sum, { checked_files: n }) => sum + n, 0);
  const newest = checked
    .map(({ completed_at: at }) => at)
    .toSorted()
    .at(-1);
  const title = bad > 0 ? r.findings(bad) : checked.length === 0 ? r.unchecked : r.intact(checked.length);
  return (
    <section className="card chain" aria-labelledby="retention-title">
      <span className={bad > 0 ? "chain-icon chain-icon-bad" : "chain-icon"}>
        {bad > 0 ? <ShieldAlert size={20} aria-hidden="true" /> : <ShieldCheck size={20} aria-hidden="true" />}
      </span>
      <div>
        <h2 id="retention-title">{title}</h2>
        <p>{newest === undefined ? r.uncheckedDetail : r.intactDetail(files, lower(recently(newest)))}</p>
      </div>
    </section>
  );
}

const rowHeight = 81;

function Verification({ vaults }: { readonly vaults: readonly Vault[] }) {
  const rows = useLongRows<HTMLUListElement, HTMLLIElement>(vaults.length, rowHeight);
  return (
    <section className="card" aria-labelledby="verification-title">
      <header className="card-header">
        <h2 id="verification-title">{r.verification}</h2>
      </header>
      <ul ref={rows.list} className="rows">
        {rows.above > 0 && <li className="spacer" aria-hidden="true" style={{ height: rows.above }} />}
        {rows.shown.map((index) => {
          const vault = vaults[index];
          if (vault === undefined) return null;
          const { id, name, last_verification: last, upkeep } = vault;
          const found = upkeep.damaged_frames > 0 ? r.damaged(upkeep.damaged_frames) : null;
          return (
            <li key={id} ref={rows.measure} data-index={index} className="row">
              <Glyph status={isBad(vault) ? "failed" : last === null ? "none" : "ok"} />
              <div>
                <strong>
                  <ShownName name={name} />
                </strong>
                <span>
                  {last === null
                    ? r.unchecked
                    : `${r.checked} ${count(last.checked_files)}, ${lower(r.failed)} ${count(last.failed)} · ${recently(last.completed_at)}`}
                </span>
                {upkeep.scrubbed_at !== null && (
                  <span>
                    {r.scrub}: {found ?? lower(r.healthy)} · {dayAndTime(upkeep.scrubbed_at)}
                  </span>
                )}
              </div>
            </li>
          );
        })}
        {rows.below > 0 && <li className="spacer" aria-hidden="true" style={{ height: rows.below }} />}
      </ul>
    </section>
  );
}
