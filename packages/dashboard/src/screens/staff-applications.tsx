/** The queue of applications: J and K move, each is checked, then approved or rejected with a reason. */

import type { AdminApplication } from "@emanet/client/source";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Inbox } from "lucide-react";
import { useState } from "react";
import { client } from "../api/client.ts";
import { applicationsQuery } from "../api/staff-queries.ts";
import { dayAndTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { ReasonDialog } from "../parts/reason-dialog.tsx";
import { Segments } from "../parts/segments.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Empty, QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { f } from "../strings/staff.ts";
import { StaffList } from "./staff-list.tsx";

const isOpen = ({ status }: AdminApplication): boolean => status === "submitted" || status === "under_review";

export function StaffApplications() {
  const [shown, setShown] = useState<"waiting" | "all">("waiting");
  const applications = useInfiniteQuery(applicationsQuery);
  return (
    <>
      <div className="filter-bar">
        <Segments
          label={f.applications}
          value={shown}
          onValue={setShown}
          options={[
            { value: "waiting", text: f.waiting },
            { value: "all", text: f.all },
          ]}
        />
        <span className="lead hide-narrow">{f.keys}</span>
      </div>
      <QueryView query={applications} lines={8}>
        {({ pages }) => {
          const all = pages.flatMap(({ data }) => data);
          const list = shown === "all" ? all : all.filter(isOpen);
          return list.length === 0 ? (
            <Empty icon={<Inbox size={28} aria-hidden="true" />} title={f.nothing} />
          ) : (
            <StaffList
              label={f.applications}
              list={list}
              item={(application) => (
                <>
                  <strong>
                    <ShownName name={application.company_name} />
                  </strong>
                  <span>
                    {dayAndTime(application.created_at)} · {t.packages[application.package] ?? application.package}
                  </span>
                  <StatusTag status={application.status} />
                </>
              )}
              detail={(application) => <Detail application={application} />}
            />
          );
        }}
      </QueryView>
      <MoreButton query={applications} />
    </>
  );
}

function StatusTag({ status }: { readonly status: string }) {
  const looks: Readonly<Record<string, string>> = {
    ...{ submitted: "tag-running", under_review: "tag-late", approved: "tag-ok", rejected: "tag-failed" },
  };
  return <span className={`tag ${looks[status] ?? ""}`}>{f.application.statuses[status] ?? status}</span>;
}

type Act = "review" | "approve" | "reject";

function Detail({ application }: { readonly application: AdminApplication }) {
  const [act, setAct] = useState<Act | null>(null);
  const { id, status, note, duplicate_of: duplicate, decision_reason: decision } = application;
  const words = f.application;
  return (
    <section className="card details staff-detail" aria-label={visibleName(application.company_name)}>
      <h2>
        <ShownName name={application.company_name} />
      </h2>
      {duplicate !== null && <p className="settings-warning">{words.duplicate}</p>}
      <dl>
        <dt>{words.person}</dt>
        <dd>
          <ShownName name={application.full_name} />
        </dd>
        <dt>{words.email}</dt>
        <dd>
          <ShownName name={application.email} />
        </dd>
        <dt>{words.phone}</dt>
        <dd>{application.phone}</dd>
        <dt>{words.kind}</dt>
        <dd>{f.account.kinds[application.kind] ?? application.kind}</dd>
        <dt>{words.taxId}</dt>
        <dd>{application.tax_id}</dd>
        <dt>{words.package}</dt>
        <dd>{t.packages[application.package] ?? application.package}</dd>
        <dt>{words.when}</dt>
        <dd>{dayAndTime(application.created_at)}</dd>
        {note !== null && (
          <>
            <dt>{words.note}</dt>
            <dd>
              <ShownName name={note} />
            </dd>
          </>
        )}
        {decision !== null && (
          <>
            <dt>{words.decision}</dt>
            <dd>
              <ShownName name={decision} />
            </dd>
          </>
        )}
      </dl>
      {isOpen(application) && (
        <div className="staff-actions">
          {status === "submitted" && <Button onClick={() => setAct("review")}>{words.review}</Button>}
          <Button look="primary" onClick={() => setAct("approve")}>
            {words.approve}
          </Button>
          <Button look="danger" onClick={() => setAct("reject")}>
            {words.reject}
          </Button>
        </div>
      )}
      {act !== null && <Decide id={id} act={act} onClose={() => setAct(null)} />}
    </section>
  );
}

interface DecideProps {
  readonly id: string;
  readonly act: Act;
  readonly onClose: () => void;
}

function Decide({ id, act, onClose }: DecideProps) {
  const words = f.application;
  if (act === "review")
    return (
      <ReasonDialog
        title={words.review}
        detail={words.reviewDetail}
        act={(reason, options) => client.admin.reviewApplication({ id, body: { reason } }, options)}
        onClose={onClose}
      />
    );
  if (act === "approve")
    return (
      <ReasonDialog
        title={words.approve}
        detail={words.approveDetail}
        act={(reason, options) => client.admin.approveApplication({ id, body: { reason } }, options)}
        onClose={onClose}
      />
    );
  return (
    <ReasonDialog
      title={words.reject}
      detail={f.reasonMailed}
      hint={f.reasonHint}
      act={(reason, options) => client.admin.rejectApplication({ id, body: { reason } }, options)}
      onClose={onClose}
    />
  );
}
