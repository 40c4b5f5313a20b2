/** What went wrong with the last night of a taxpayer: the cause in words, the last good copy, and three things to try. */

import type { Snapshot } from "@emanet/client/source";
import { Link } from "@tanstack/react-router";
import { dayAndTime } from "../format.ts";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { trouble } from "../strings/trouble.ts";

interface TroubleProps {
  readonly night: Status;
  /** Newest first. */
  readonly snapshots: readonly Snapshot[];
}

export function lastGoodOf(snapshots: readonly Snapshot[]): Snapshot | undefined {
  return snapshots.find(({ status, failure }) => status === "completed" && failure === null);
}

/** Nobody ticks it off: the next good backup does. */
export function Trouble({ night, snapshots }: TroubleProps) {
  if (night !== "failed" && night !== "late") return null;
  const failed = night === "failed" ? snapshots.find(({ failure }) => failure !== null) : undefined;
  const good = lastGoodOf(snapshots);
  const code = failed?.failure?.code ?? "late";
  return (
    <section className="card trouble" aria-labelledby="trouble-title">
      <h2 id="trouble-title">{trouble.title}</h2>
      <dl>
        <dt>{trouble.cause}</dt>
        <dd>
          {failed === undefined || failed.failure === null ? (
            trouble.late
          ) : (
            <>
              {failed.failure.detail} <ShownName name={failed.source.name} />, {dayAndTime(failed.created_at)}
            </>
          )}
        </dd>
        <dt>{trouble.lastGood}</dt>
        <dd>
          {good === undefined ? (
            trouble.noGood
          ) : (
            <Link to="/app/snapshots/$id" params={{ id: good.id }}>
              <Glyph status="ok" size={13} /> {dayAndTime(good.created_at)}
            </Link>
          )}
        </dd>
      </dl>
      <h3>{trouble.tryThese}</h3>
      <ol>
        {(trouble.steps[code] ?? trouble.steps.internal ?? []).map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <p className="field-hint">{trouble.byItself}</p>
    </section>
  );
}
