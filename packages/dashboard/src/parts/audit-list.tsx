/** Records of an audit trail: who did what, in a chain. The account's own, or those of a share. */

import type { AuditRecord, SharedAuditRecord } from "@emanet/client/source";
import { Cpu, KeyRound, ShieldCheck, User } from "lucide-react";
import type { ComponentProps, Ref } from "react";
import { clockWithSeconds, dayKey, shortDay, today } from "../format.ts";
import { t } from "../strings/index.ts";
import { SpaceRow, useLongRows } from "./long-rows.tsx";
import { MoreButton } from "./more-button.tsx";
import { ShownName } from "./shown-name.tsx";

export type ShownRecord = AuditRecord | SharedAuditRecord;

interface AuditListProps {
  readonly list: readonly ShownRecord[];
  readonly query: ComponentProps<typeof MoreButton>["query"];
  /** Said at records of which the share hides a part. */
  readonly masked?: string;
}

const rowHeight = 55;
const columns = 5;

export function AuditList({ list, query, masked }: AuditListProps) {
  const rows = useLongRows<HTMLTableSectionElement, HTMLTableRowElement>(list.length, rowHeight, query);
  return (
    <>
      <table className="table card-table audit-table">
        <thead>
          <tr>
            <th scope="col">{t.audit.time}</th>
            <th scope="col">{t.audit.who}</th>
            <th scope="col">{t.audit.what}</th>
            <th scope="col" className="hide-narrow">
              {t.audit.target}
            </th>
            <th scope="col">{t.audit.hash}</th>
          </tr>
        </thead>
        <tbody ref={rows.list}>
          <SpaceRow height={rows.above} columns={columns} />
          {rows.shown.map((index) => {
            const record = list[index];
            return record === undefined ? null : (
              <Row key={record.id} record={record} masked={masked} index={index} measure={rows.measure} />
            );
          })}
          <SpaceRow height={rows.below} columns={columns} />
        </tbody>
      </table>
      <MoreButton query={query} />
    </>
  );
}

interface RowProps {
  readonly record: ShownRecord;
  readonly masked: string | undefined;
  readonly index: number;
  readonly measure: Ref<HTMLTableRowElement> | undefined;
}

function Row({ record, masked, index, measure }: RowProps) {
  const { occurred_at: at, actor, person, action, outcome, targets, hash } = record;
  const kind = t.audit.actors[actor.kind] ?? actor.kind;
  return (
    <tr ref={measure} data-index={index}>
      <td>
        {dayKey(at) === today() ? "" : `${shortDay(at)} `}
        {clockWithSeconds(at)}
      </td>
      <th scope="row">
        <span className="actor">
          <span className="actor-icon">
            <ActorIcon kind={actor.kind} />
          </span>
          <span>
            <ShownName name={person ?? kind} />
            {person !== null && <span>{kind}</span>}
          </span>
        </span>
      </th>
      <td>
        <code>{action}</code>
        {outcome === "failure" && <span className="tag tag-failed">{t.audit.failed}</span>}
        {"masked" in record && record.masked && masked !== undefined && (
          <span className="tag hide-narrow">{masked}</span>
        )}
      </td>
      <td className="hide-narrow">{targets.map(({ type }) => type).join(", ")}</td>
      <td className="link-of-chain">
        <code title={hash}>
          {hash.slice(0, 4)}…{hash.slice(-4)}
        </code>
      </td>
    </tr>
  );
}

function ActorIcon({ kind }: { readonly kind: string }) {
  if (kind === "client") return <KeyRound size={13} aria-hidden="true" />;
  if (kind === "agent") return <Cpu size={13} aria-hidden="true" />;
  return kind === "system" ? <ShieldCheck size={13} aria-hidden="true" /> : <User size={13} aria-hidden="true" />;
}
