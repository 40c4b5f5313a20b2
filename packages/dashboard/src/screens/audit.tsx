/** Audit trail: who did what to what, in a chain that proves itself; export, and shares with outside auditors. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Share2, ShieldCheck } from "lucide-react";
import { useState } from "react";
import { auditChainQuery, auditQuery } from "../api/queries.ts";
import { rolesWith, useRights } from "../api/rights.ts";
import { membersQuery } from "../api/settings-queries.ts";
import { recently } from "../format.ts";
import { AuditList } from "../parts/audit-list.tsx";
import { Button } from "../parts/button.tsx";
import { Segments } from "../parts/segments.tsx";
import { visibleName } from "../parts/shown-name.tsx";
import { Empty, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { ExportCard } from "./audit-export.tsx";
import { NewShare, Shares } from "./audit-shares.tsx";

export function Audit() {
  const { may, role, isSuspended } = useRights();
  const [isSharing, setSharing] = useState(false);
  const mayShare = role === "owner" || role === "manager";
  const why = isSuspended ? t.states.suspendedAction : t.states.noPermission(t.roles.manager ?? "");
  return (
    <Screen
      title={t.audit.title}
      actions={
        <Button
          icon={<Share2 size={16} aria-hidden="true" />}
          unavailable={mayShare && !isSuspended ? undefined : why}
          onClick={() => setSharing(true)}
        >
          {t.audit.share}
        </Button>
      }
    >
      {may("audit:read") ? (
        <div className="audit">
          <Chain />
          <div className="audit-columns">
            <Records />
            <div className="audit-side">
              <ExportCard />
              <Shares mayChange={mayShare} />
            </div>
          </div>
        </div>
      ) : (
        <NoPermission roles={rolesWith("audit:read")} />
      )}
      {isSharing && <NewShare onClose={() => setSharing(false)} />}
    </Screen>
  );
}

function Chain() {
  const chain = useQuery(auditChainQuery);
  return (
    <section className="card chain" aria-labelledby="chain-title">
      <QueryView query={chain} lines={2}>
        {({ records, last_checkpoint_at: at, last_checkpoint_seq: seq }) => (
          <>
            <span className="chain-icon">
              <ShieldCheck size={20} aria-hidden="true" />
            </span>
            <div>
              <h2 id="chain-title">{t.audit.intact(records)}</h2>
              <p>
                {t.audit.intactDetail}
                {at !== null && seq !== null && ` ${t.audit.checkpoint(recently(at).toLocaleLowerCase("tr"), seq)}`}
              </p>
            </div>
            <a className="button button-plain button-small" href="/docs">
              {t.audit.verify}
            </a>
          </>
        )}
      </QueryView>
    </section>
  );
}

const periods = ["7", "30", "90"] as const;

function Records() {
  const { days = "7", outcome = "all", who } = useSearch({ from: "/app/audit" });
  const navigate = useNavigate({ from: "/app/audit" });
  const period = periods.find((one) => one === days) ?? "7";
  const isFailure = outcome === "failure";
  const records = useInfiniteQuery(auditQuery({ days: Number(period), isFailure, who }));
  const texts = { "7": t.audit.days7, "30": t.audit.days30, "90": t.audit.days90 };
  return (
    <section className="card audit-records" aria-label={t.audit.title}>
      <div className="audit-filters">
        <Segments
          label={t.audit.range}
          value={period}
          onValue={(value) => void navigate({ search: (before) => ({ ...before, days: value }), replace: true })}
          options={periods.map((value) => ({ value, text: texts[value] }))}
        />
        <Segments
          label={t.audit.outcome}
          value={isFailure ? "failure" : "all"}
          onValue={(value) => void navigate({ search: (before) => ({ ...before, outcome: value }), replace: true })}
          options={[
            { value: "all", text: t.audit.all },
            { value: "failure", text: t.audit.failures },
          ]}
        />
        <PersonFilter
          value={who}
          onValue={(value) =>
            void navigate({ search: ({ who: _who, ...rest }) => ({ ...rest, ...value }), replace: true })
          }
        />
      </div>
      <QueryView query={records} lines={10}>
        {({ pages }) => {
          const list = pages.flatMap(({ data }) => data);
          if (list.length === 0) return <Empty title={t.audit.empty} />;
          return <AuditList list={list} query={records} />;
        }}
      </QueryView>
    </section>
  );
}

interface PersonFilterProps {
  readonly value: string | undefined;
  readonly onValue: (value: { who?: string }) => void;
}

/** Only for those who may see the team. */
function PersonFilter({ value, onValue }: PersonFilterProps) {
  const { may } = useRights();
  const { data: members = [] } = useQuery({ ...membersQuery, enabled: may("account:read") });
  if (members.length < 2) return null;
  return (
    <select
      className="input audit-person"
      aria-label={t.audit.who}
      value={value ?? ""}
      onChange={({ target }) => onValue(target.value === "" ? {} : { who: target.value })}
    >
      <option value="">{t.audit.everyone}</option>
      {members.map(({ id, full_name: name }) => (
        <option key={id} value={id}>
          {visibleName(name)}
        </option>
      ))}
    </select>
  );
}
