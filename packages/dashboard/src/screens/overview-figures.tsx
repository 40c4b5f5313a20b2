/** Four figures: stored, saved by deduplication, last verification, last restore. Each keeps its place when it fails. */

import type { Restore, UsageTotal, Vault } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { Clock3, HardDrive, RotateCcw, ShieldCheck, Sparkles } from "lucide-react";
import type { ReactNode } from "react";
import { recentRestoresQuery, usageTotalQuery, vaultsQuery } from "../api/queries.ts";
import { capital, duration, number, percent, recently, size, sizeParts } from "../format.ts";
import { QueryView } from "../parts/states.tsx";
import { boardDays } from "../shell/side-bar.tsx";
import { t } from "../strings/index.ts";

export function Figures() {
  const usage = useQuery(usageTotalQuery(boardDays));
  const vaults = useQuery(vaultsQuery);
  const restores = useQuery(recentRestoresQuery(1));
  return (
    <div className="figures">
      <Figure icon={<HardDrive size={14} aria-hidden="true" />} label={t.overview.stored}>
        <QueryView query={usage} lines={2}>
          {(data) => <Stored total={data} />}
        </QueryView>
      </Figure>
      <Figure icon={<Sparkles size={14} aria-hidden="true" />} label={t.overview.dedup}>
        <QueryView query={usage} lines={2}>
          {(data) => <Saved total={data} />}
        </QueryView>
      </Figure>
      <Figure icon={<ShieldCheck size={14} aria-hidden="true" />} label={t.overview.lastVerify}>
        <QueryView query={vaults} lines={2}>
          {(data) => <Verified vaults={data} />}
        </QueryView>
      </Figure>
      <Figure icon={<RotateCcw size={14} aria-hidden="true" />} label={t.overview.lastRestore}>
        <QueryView query={restores} lines={2}>
          {(data) => <LastRestore restore={data[0]} />}
        </QueryView>
      </Figure>
    </div>
  );
}

interface FigureProps {
  readonly icon: ReactNode;
  readonly label: string;
  readonly children: ReactNode;
}

function Figure({ icon, label, children }: FigureProps) {
  return (
    <section className="card figure">
      <h2 className="caption">
        {icon} {label}
      </h2>
      {children}
    </section>
  );
}

function Value({ value, detail }: { readonly value: ReactNode; readonly detail: string }) {
  return (
    <>
      <p className="figure-value">{value}</p>
      <p className="figure-detail">{detail}</p>
    </>
  );
}

function Stored({ total }: { readonly total: UsageTotal }) {
  const { stored_bytes: stored, quota_bytes: quota, vaults, days } = total;
  const grown = stored - (days.at(-2)?.stored_bytes ?? 0);
  const { value, unit } = sizeParts(stored);
  const more = `${grown < 0 ? "−" : "+"}${size(Math.abs(grown))}`;
  return (
    <Value
      value={
        <>
          {value} {unit}
          {quota !== null && vaults > 0 && <span className="figure-of"> / {size(quota)}</span>}
        </>
      }
      detail={t.overview.storedToday(more)}
    />
  );
}

function Saved({ total: { stored_bytes: stored, size_bytes: files } }: { readonly total: UsageTotal }) {
  if (stored === 0 || files === 0) return <Value value="–" detail={t.overview.chartEmpty} />;
  return (
    <Value value={t.overview.times(number(files / stored))} detail={t.overview.insteadOf(size(files), size(stored))} />
  );
}

function Verified({ vaults }: { readonly vaults: readonly Vault[] }) {
  const runs = vaults.flatMap(({ last_verification: run }) => (run === null ? [] : [run]));
  const latest = runs
    .map((run) => run.completed_at)
    .sort()
    .at(-1);
  if (latest === undefined) return <Value value={t.overview.notYet} detail={t.overview.verifyNone} />;
  const files = runs.reduce((sum, run) => sum + run.checked_files, 0);
  const failed = runs.reduce((sum, run) => sum + run.failed, 0);
  const value = failed === 0 ? t.overview.verifyOk(percent(1)) : t.overview.verifyBad(failed);
  return <Value value={value} detail={t.overview.verifyFiles(capital(recently(latest)), files)} />;
}

function LastRestore({ restore }: { readonly restore: Restore | undefined }) {
  if (restore === undefined) return <Value value={t.overview.notYet} detail={t.overview.restoreNone} />;
  const { started_at: from, completed_at: to, files_total: files, created_at: at } = restore;
  const took = from !== null && to !== null ? duration(Date.parse(to) - Date.parse(from)) : null;
  return (
    <Value
      value={took ?? <Clock3 size={20} aria-label={t.night.running} />}
      detail={t.overview.restoreFiles(capital(recently(at)), files)}
    />
  );
}
