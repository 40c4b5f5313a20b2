/** Usage and limits: what is stored of which quota and when it is full, the vaults by size, what is left of each limit. */

import type { RateLimit, VaultUsage } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { type Ref, useState } from "react";
import { accountQuery, rateLimitsQuery } from "../api/queries.ts";
import { rolesWith, useRights } from "../api/rights.ts";
import { limitRequestsQuery, vaultUsageQuery } from "../api/settings-queries.ts";
import { day, duration, longDay, lower, recently, size } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { SpaceRow, useLongRows } from "../parts/long-rows.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { NoPermission, QueryView } from "../parts/states.tsx";
import { s } from "../strings/settings.ts";
import { AskLimit } from "./settings-ask-limit.tsx";

export function UsageSettings() {
  const { may } = useRights();
  const mayRead = may("snapshots:read");
  const usage = useQuery({ ...vaultUsageQuery, enabled: mayRead });
  return (
    <>
      {mayRead ? (
        <QueryView query={usage} lines={6}>
          {(vaults) => (
            <>
              <Total vaults={vaults} />
              <Vaults vaults={vaults} />
            </>
          )}
        </QueryView>
      ) : (
        <NoPermission roles={rolesWith("snapshots:read")} />
      )}
      <Limits />
    </>
  );
}

function Total({ vaults }: { readonly vaults: readonly VaultUsage[] }) {
  const { stored, files, quota } = totalsOf(vaults);
  // The earliest of the vaults: that one stops first.
  const fullOn = vaults.flatMap(({ quota_reached_on: on }) => (on === null ? [] : [on])).toSorted()[0];
  const hasQuota = vaults.some(({ quota_bytes: own }) => own !== null);
  const forecast = fullOn === undefined ? s.usage.notFull : s.usage.fullOn(longDay(fullOn));
  return (
    <section className="card usage-total" aria-labelledby="usage-title">
      <h2 id="usage-title" className="display">
        {quota === null ? s.usage.stored(size(stored)) : s.usage.storedOf(size(stored), size(quota))}
      </h2>
      {quota !== null && quota > 0 && (
        <progress className="bar" max={quota} value={stored} aria-labelledby="usage-title" />
      )}
      <p className={fullOn === undefined ? "lead" : "settings-warning"}>{hasQuota ? forecast : s.usage.noQuota}</p>
      {files > stored && <p className="lead">{s.usage.saved(size(files - stored))}</p>}
    </section>
  );
}

const rowHeight = 41;
const columns = 5;

function Vaults({ vaults }: { readonly vaults: readonly VaultUsage[] }) {
  const rows = useLongRows<HTMLTableSectionElement, HTMLTableRowElement>(vaults.length, rowHeight);
  const sorted = vaults.toSorted((one, other) => other.stored_bytes - one.stored_bytes);
  return (
    <section className="card" aria-labelledby="vaults-title">
      <header className="card-header">
        <h2 id="vaults-title">{s.usage.vaults}</h2>
      </header>
      {sorted.length === 0 ? (
        <p className="card-empty">{s.usage.noVaults}</p>
      ) : (
        <div className="table-box">
          <table className="table usage-table">
            <thead>
              <tr>
                <th scope="col">{s.usage.vault}</th>
                <th scope="col" className="number">
                  {s.usage.kept}
                </th>
                <th scope="col" className="number hide-narrow">
                  {s.usage.files}
                </th>
                <th scope="col" className="number">
                  {s.usage.quota}
                </th>
                <th scope="col" className="number hide-narrow">
                  {s.usage.reached}
                </th>
              </tr>
            </thead>
            <tbody ref={rows.list}>
              <SpaceRow height={rows.above} columns={columns} />
              {rows.shown.map((index) => {
                const vault = sorted[index];
                return vault === undefined ? null : (
                  <VaultRow key={vault.vault_id} vault={vault} index={index} measure={rows.measure} />
                );
              })}
              <SpaceRow height={rows.below} columns={columns} />
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Limits() {
  const { whyNot } = useRights();
  const { data: account } = useQuery(accountQuery);
  const limits = useQuery(rateLimitsQuery);
  const [isAsking, setAsking] = useState(false);
  const why = account?.package === "corporate" ? whyNot("account:write") : s.usage.askNot;
  return (
    <section className="card" aria-labelledby="limits-title">
      <header className="card-header">
        <h2 id="limits-title">{s.usage.limits}</h2>
        <Button size="small" unavailable={why} onClick={() => setAsking(true)}>
          {s.usage.ask}
        </Button>
      </header>
      <p className="settings-note">{s.usage.limitsDetail}</p>
      <QueryView query={limits} lines={6}>
        {(list) => (
          <ul className="rows">
            {list.map((limit) => (
              <Limit key={limit.policy} limit={limit} />
            ))}
          </ul>
        )}
      </QueryView>
      <Requests />
      {isAsking && <AskLimit onClose={() => setAsking(false)} />}
    </section>
  );
}

function Limit({ limit }: { readonly limit: RateLimit }) {
  const { policy, limit: all, remaining, window_s: window, reset_at: resetAt, mode, custom } = limit;
  const name = s.usage.policies[policy] ?? policy;
  return (
    <li className="row limit-row">
      <div>
        <strong>
          {name} {custom && <span className="tag">{s.usage.custom}</span>}
        </strong>
        <span>
          {s.usage.per(duration(window * 1000))}
          {mode === "shadow" && `, ${s.usage.shadow}`}
        </span>
      </div>
      <span className="limit-left">
        {s.usage.left(remaining, all)}
        <progress className="bar" max={all} value={remaining} aria-label={name} />
        {remaining < all && <span className="lead">{s.usage.fullAgain(lower(recently(resetAt)))}</span>}
      </span>
    </li>
  );
}

function Requests() {
  const { data = [] } = useQuery(limitRequestsQuery);
  if (data.length === 0) return null;
  const looks: Readonly<Record<string, string>> = { pending: "tag-late", approved: "tag-ok", rejected: "tag-failed" };
  return (
    <>
      <header className="card-header">
        <h2>{s.usage.requests}</h2>
      </header>
      <ul className="rows">
        {data.map(({ id, policy, limit, window_s: window, state }) => (
          <li key={id} className="row">
            <div>
              <strong>{s.usage.policies[policy] ?? policy}</strong>
              <span>{s.usage.requested(limit, duration(window * 1000))}</span>
            </div>
            <span className={`tag ${looks[state] ?? ""}`}>{s.usage.requestStates[state] ?? state}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

interface VaultRowProps {
  readonly vault: VaultUsage;
  readonly index: number;
  readonly measure: Ref<HTMLTableRowElement> | undefined;
}

function VaultRow({ vault, index, measure }: VaultRowProps) {
  const { name, stored_bytes: stored, size_bytes: files, quota_bytes: quota, quota_reached_on: fullOn } = vault;
  return (
    <tr ref={measure} data-index={index}>
      <th scope="row">
        <ShownName name={name} />
      </th>
      <td className="number">{size(stored)}</td>
      <td className="number hide-narrow">{size(files)}</td>
      <td className="number">{quota === null ? "–" : size(quota)}</td>
      <td className="number hide-narrow">{fullOn === null ? "–" : day(fullOn)}</td>
    </tr>
  );
}

/** The sums of all vaults. Without a quota of every vault there is none of the account. */
function totalsOf(vaults: readonly { stored_bytes: number; size_bytes: number; quota_bytes: number | null }[]) {
  const stored = vaults.reduce((sum, vault) => sum + vault.stored_bytes, 0);
  const files = vaults.reduce((sum, vault) => sum + vault.size_bytes, 0);
  const quota = vaults.every(({ quota_bytes: own }) => own !== null)
    ? vaults.reduce((sum, vault) => sum + (vault.quota_bytes ?? 0), 0)
    : null;
  return { stored, files, quota };
}
