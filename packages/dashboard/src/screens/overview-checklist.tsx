/** The first run: three steps to the first verified backup, and a file that came back. */

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { agentsQuery, type NightBoard, recentRestoresQuery, vaultsQuery } from "../api/queries.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { remember, remembered } from "../platform.ts";
import { t } from "../strings/index.ts";

interface Step {
  readonly title: string;
  readonly detail: string;
  readonly action: ReactNode;
}

/** Those of the first run that are done, from what the account has. Null while that is read. */
function useDone({ rows }: NightBoard): readonly boolean[] | null {
  const { data: vaults } = useQuery(vaultsQuery);
  const { data: agents } = useQuery(agentsQuery);
  const { data: restores } = useQuery(recentRestoresQuery(1));
  if (vaults === undefined || agents === undefined || restores === undefined) return null;
  const hasBackup = rows.some(({ last_good_at: at }) => at !== null);
  return [
    vaults.some(({ kind }) => kind === "taxpayer"),
    // A program can send backups too.
    agents.length > 0 || hasBackup,
    restores.some(({ status }) => status === "completed") || remembered("tried") !== null,
  ];
}

/** Until everything is done, or a person has seen enough of it. */
export function Checklist({ night }: { readonly night: NightBoard }) {
  const done = useDone(night);
  const [isOver, setOver] = useState(remembered("started") !== null);
  const isEmpty = night.rows.length === 0;
  const isDone = done?.every((one) => one) ?? false;
  useEffect(() => {
    if (isDone) remember("started", "yes");
  }, [isDone]);
  if (isDone || (!isEmpty && (isOver || done === null))) return null;
  const end = () => {
    remember("started", "yes");
    setOver(true);
  };
  return <Steps done={done ?? []} onEnd={isEmpty ? null : end} />;
}

interface StepsProps {
  readonly done: readonly boolean[];
  /** Null: it is all that the page has to say. */
  readonly onEnd: (() => void) | null;
}

function Steps({ done, onEnd }: StepsProps) {
  const { step1, step1Detail, step2, step2Detail, step3, step3Detail } = t.overview;
  const steps: readonly Step[] = [
    {
      ...{ title: step1, detail: step1Detail },
      action: (
        <ButtonLink size="small" look="primary" to="/app/taxpayers">
          {t.overview.step1Action}
        </ButtonLink>
      ),
    },
    {
      ...{ title: step2, detail: step2Detail },
      action: (
        <ButtonLink size="small" to="/app/sources">
          {t.overview.step2Action}
        </ButtonLink>
      ),
    },
    {
      ...{ title: step3, detail: step3Detail },
      action: (
        <ButtonLink size="small" to="/app/snapshots">
          {t.overview.step3Action}
        </ButtonLink>
      ),
    },
  ];
  return (
    <section className="card checklist" aria-labelledby="checklist-title">
      <h2 id="checklist-title" className="display">
        {t.overview.start}
      </h2>
      <p className="lead">{t.overview.startLead}</p>
      <ol>
        {steps.map(({ title, detail, action }, at) => (
          <li key={title}>
            <Glyph status={done[at] ? "ok" : "none"} size={22} />
            <div>
              <strong>{title}</strong>
              <span>{detail}</span>
              {done[at] ? <span className="sr-only">{t.overview.done}</span> : action}
            </div>
          </li>
        ))}
      </ol>
      {onEnd !== null && (
        <button type="button" className="text-button quiet" onClick={onEnd}>
          {t.overview.startHide}
        </button>
      )}
    </section>
  );
}
