/** The first run: three steps to the first verified backup. */

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { agentsQuery, recentRestoresQuery, vaultsQuery } from "../api/queries.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { t } from "../strings/index.ts";

interface Step {
  readonly title: string;
  readonly detail: string;
  readonly isDone: boolean;
  readonly action: ReactNode;
}

export function Checklist() {
  const { data: vaults = [] } = useQuery(vaultsQuery);
  const { data: agents = [] } = useQuery(agentsQuery);
  const { data: restores = [] } = useQuery(recentRestoresQuery(1));
  const { step1, step1Detail, step2, step2Detail, step3, step3Detail } = t.overview;
  const steps: readonly Step[] = [
    {
      title: step1,
      detail: step1Detail,
      isDone: vaults.some(({ kind }) => kind === "taxpayer"),
      action: (
        <ButtonLink size="small" look="primary" to="/app/taxpayers">
          {t.overview.step1Action}
        </ButtonLink>
      ),
    },
    {
      title: step2,
      detail: step2Detail,
      isDone: agents.length > 0,
      action: (
        <ButtonLink size="small" to="/app/sources">
          {t.overview.step2Action}
        </ButtonLink>
      ),
    },
    {
      title: step3,
      detail: step3Detail,
      isDone: restores.some(({ status }) => status === "completed"),
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
        {steps.map(({ title, detail, isDone, action }) => (
          <li key={title}>
            {isDone ? <Glyph status="ok" size={22} /> : <Glyph status="none" size={22} />}
            <div>
              <strong>{title}</strong>
              <span>{detail}</span>
              {!isDone && action}
              {isDone && <span className="sr-only">{t.overview.done}</span>}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
