/** The shorter lists of the staff: requests for limits, bans, jobs, the audit trail. */

import type { AdminAuditRecord, AdminJob, AdminLimitRequest, Ban } from "@emanet/client/source";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { client } from "../api/client.ts";
import { bansQuery, jobsQuery, recordsQuery, requestsQuery } from "../api/staff-queries.ts";
import { count, dayAndTime, duration } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Choice } from "../parts/choice.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { ReasonDialog } from "../parts/reason-dialog.tsx";
import { Segments } from "../parts/segments.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { Empty, QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";
import { f } from "../strings/staff.ts";

export function StaffRequests() {
  const requests = useInfiniteQuery(requestsQuery);
  return (
    <>
      <QueryView query={requests} lines={5}>
        {({ pages }) => {
          const list = pages.flatMap(({ data }) => data);
          if (list.length === 0) return <Empty title={f.nothing} />;
          return (
            <ul className="card rows">
              {list.map((request) => (
                <Request key={request.id} request={request} />
              ))}
            </ul>
          );
        }}
      </QueryView>
      <MoreButton query={requests} />
    </>
  );
}

function Request({ request }: { readonly request: AdminLimitRequest }) {
  const [act, setAct] = useState<"approve" | "reject" | null>(null);
  const { id, policy, limit, window_s: window, state, reason } = request;
  const looks: Readonly<Record<string, string>> = { pending: "tag-late", approved: "tag-ok", rejected: "tag-failed" };
  return (
    <li className="row member-row">
      <div>
        <strong>{s.usage.policies[policy] ?? policy}</strong>
        <span>{f.request.asks(limit, duration(window * 1000))}</span>
        <span>
          <ShownName name={reason} />
        </span>
        <code>{request.account_id}</code>
      </div>
      <span className={`tag ${looks[state] ?? ""}`}>{f.request.states[state] ?? state}</span>
      {state === "pending" && (
        <span className="row-actions">
          <Button size="small" onClick={() => setAct("approve")}>
            {f.request.approve}
          </Button>
          <Button size="small" look="danger" onClick={() => setAct("reject")}>
            {f.request.reject}
          </Button>
        </span>
      )}
      {act !== null && (
        <ReasonDialog
          title={f.request[act]}
          detail={f.request.detail}
          act={(why, options) =>
            act === "approve"
              ? client.admin.approveLimitRequest({ id, body: { reason: why } }, options)
              : client.admin.rejectLimitRequest({ id, body: { reason: why } }, options)
          }
          onClose={() => setAct(null)}
        />
      )}
    </li>
  );
}

export function StaffBans() {
  const bans = useInfiniteQuery(bansQuery);
  const [isSetting, setSetting] = useState(false);
  return (
    <>
      <div className="filter-bar">
        <Button onClick={() => setSetting(true)}>{f.ban.set}</Button>
      </div>
      {isSetting && <SetBan onClose={() => setSetting(false)} />}
      <QueryView query={bans} lines={5}>
        {({ pages }) => {
          const list = pages.flatMap(({ data }) => data);
          if (list.length === 0) return <Empty title={f.ban.none} />;
          return (
            <ul className="card rows">
              {list.map((ban) => (
                <BanItem key={ban.id} ban={ban} />
              ))}
            </ul>
          );
        }}
      </QueryView>
      <MoreButton query={bans} />
    </>
  );
}

const banKinds = ["client", "session", "address"] as const;
const banTimes = ["1", "24", "forever"] as const;

function SetBan({ onClose }: { readonly onClose: () => void }) {
  const [kind, setKind] = useState<(typeof banKinds)[number]>("client");
  const [subject, setSubject] = useState("");
  const [time, setTime] = useState<(typeof banTimes)[number]>("24");
  const hours = time === "forever" ? null : Number(time);
  return (
    <ReasonDialog
      title={f.ban.set}
      detail={f.ban.setDetail}
      act={(reason, options) => client.admin.setBan({ body: { kind, subject, hours, reason } }, options)}
      onClose={onClose}
    >
      <Choice label={f.ban.kind} values={banKinds} texts={f.ban.kinds} value={kind} onValue={setKind} />
      <TextField
        {...{ label: f.ban.subject, hint: f.ban.subjectHint, required: true, maxLength: 100, spellCheck: false }}
        value={subject}
        onText={(text) => setSubject(text.trim())}
      />
      <Choice label={f.ban.time} values={banTimes} texts={f.ban.times} value={time} onValue={setTime} />
    </ReasonDialog>
  );
}

function BanItem({ ban }: { readonly ban: Ban }) {
  const [isAsked, setAsked] = useState(false);
  const { id, kind, subject, cause, reason, created_at: since, expires_at: until } = ban;
  return (
    <li className="row member-row">
      <div>
        <strong>
          {f.ban.kinds[kind] ?? kind} <code>{subject}</code>
        </strong>
        <span>
          {dayAndTime(since)}, {until === null ? f.ban.forever : f.ban.until(dayAndTime(until))}
        </span>
        <span>{cause === "pattern" ? f.ban.pattern : <ShownName name={reason ?? ""} />}</span>
      </div>
      <Button size="small" aria-label={`${subject}: ${f.ban.lift}`} onClick={() => setAsked(true)}>
        {f.ban.lift}
      </Button>
      {isAsked && (
        <ReasonDialog
          title={f.ban.lift}
          detail={f.ban.liftDetail}
          act={(why, options) => client.admin.liftBan({ id, body: { reason: why } }, options)}
          onClose={() => setAsked(false)}
        />
      )}
    </li>
  );
}

export function StaffJobs() {
  const [shown, setShown] = useState<"all" | "failed">("all");
  const jobs = useInfiniteQuery(jobsQuery(shown === "all" ? null : shown));
  return (
    <>
      <div className="filter-bar">
        <Segments
          label={f.job.state}
          value={shown}
          onValue={setShown}
          options={[
            { value: "all", text: f.all },
            { value: "failed", text: f.job.states.failed },
          ]}
        />
      </div>
      <QueryView query={jobs} lines={8}>
        {({ pages }) => {
          const list = pages.flatMap(({ data }) => data);
          if (list.length === 0) return <Empty title={f.job.none} />;
          return (
            <StaffTable label={f.jobs} heads={[f.job.kind, f.job.state, f.job.attempt, f.job.due, f.job.error]}>
              {list.map((job) => (
                <JobRow key={job.id} job={job} />
              ))}
            </StaffTable>
          );
        }}
      </QueryView>
      <MoreButton query={jobs} />
    </>
  );
}

function JobRow({ job }: { readonly job: AdminJob }) {
  const looks: Readonly<Record<string, string>> = { failed: "tag-failed", running: "tag-running" };
  const error = job.last_error;
  return (
    <tr>
      <th scope="row">
        <code>{job.kind}</code>
      </th>
      <td>
        <span className={`tag ${looks[job.state] ?? ""}`}>{f.job.states[job.state] ?? job.state}</span>
      </td>
      <td>{count(job.attempt)}</td>
      <td>{dayAndTime(job.run_at)}</td>
      <td>{error !== null && <code>{error.code === null ? error.class : `${error.class} ${error.code}`}</code>}</td>
    </tr>
  );
}

/** Ids have this form; anything else would be refused while it is typed. */
const isId = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
const isAction = (text: string): boolean => /^[a-z_]+\.[a-z_]+$/.test(text);

export function StaffRecords() {
  const [shown, setShown] = useState<"all" | "failure">("all");
  const [account, setAccount] = useState("");
  const [act, setAct] = useState("");
  const records = useInfiniteQuery({
    ...recordsQuery({
      ...(shown === "failure" && { outcome: "failure" as const }),
      ...(isId(account) && { account_id: account }),
      ...(isAction(act) && { action: act }),
    }),
    placeholderData: keepPreviousData,
  });
  const { time, chain, who, action, outcome } = f.record;
  return (
    <>
      <div className="filter-bar">
        <Segments
          label={outcome}
          value={shown}
          onValue={setShown}
          options={[
            { value: "all", text: f.all },
            { value: "failure", text: f.record.failed },
          ]}
        />
        <FilterField label={f.account.id} value={account} onValue={setAccount} />
        <FilterField label={f.record.actionHint} value={act} onValue={setAct} />
      </div>
      <QueryView query={records} lines={10}>
        {({ pages }) => (
          <StaffTable label={f.audit} heads={[time, who, action, chain, outcome]}>
            {pages
              .flatMap(({ data }) => data)
              .map((record) => (
                <RecordRow key={record.id} record={record} />
              ))}
          </StaffTable>
        )}
      </QueryView>
      <MoreButton query={records} />
    </>
  );
}

interface FilterFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function FilterField({ label, value, onValue }: FilterFieldProps) {
  return (
    <input
      className="input staff-filter"
      aria-label={label}
      placeholder={label}
      spellCheck={false}
      value={value}
      onChange={(event) => onValue(event.target.value.trim())}
    />
  );
}

function RecordRow({ record }: { readonly record: AdminAuditRecord }) {
  const isFailure = record.outcome === "failure";
  return (
    <tr>
      <td>{dayAndTime(record.occurred_at)}</td>
      <th scope="row">{t.audit.actors[record.actor.kind] ?? record.actor.kind}</th>
      <td>
        <code>{record.action}</code>
      </td>
      <td>{record.chain === "platform" ? f.record.platform : <code>{record.chain}</code>}</td>
      <td>
        <span className={isFailure ? "tag tag-failed" : "tag"}>{isFailure ? f.record.failed : f.record.ok}</span>
      </td>
    </tr>
  );
}

interface StaffTableProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly children: ReactNode;
}

/** Wide tables scroll inside their card, also on phones. */
function StaffTable({ label, heads, children }: StaffTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
    <section className="card table-box" aria-label={label} tabIndex={0}>
      <table className="table staff-table">
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
