/** The rules of a vault: what is kept, a trial that changes nothing, and saving them. */

import { isProblem, type Retention, type RetentionPolicyChange, type RetentionSimulated } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client, queries } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { retentionQuery } from "../api/retention-queries.ts";
import { useRights } from "../api/rights.ts";
import { dayAndTime, size } from "../format.ts";
import { ActError, actMessage } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { FormError } from "../parts/field.tsx";
import { QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";
import { r } from "../strings/retention.ts";

const limits = ["floor_days", "ceiling_days"] as const;
const rules = [
  ...(["keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"] as const),
  "keep_within_days" as const,
];
type RuleName = (typeof rules)[number] | (typeof limits)[number];

/** The service's lowest and highest numbers. */
const bounds: Readonly<Partial<Record<RuleName, { readonly min?: number; readonly max: number }>>> = {
  keep_within_days: { max: 4018 },
  floor_days: { max: 4018 },
  ceiling_days: { min: 31, max: 4018 },
};
const mostKept = 10_000;

export function PolicyCard({ vaultId }: { readonly vaultId: string }) {
  const retention = useQuery(retentionQuery(vaultId));
  // Here, because the form begins anew with other rules.
  const [note, setNote] = useState("");
  return (
    <section className="card" aria-labelledby="policy-title">
      <header className="card-header">
        <h2 id="policy-title">{r.policy}</h2>
      </header>
      <QueryView query={retention} lines={6}>
        {({ policy, etag }) => <Form key={etag} vaultId={vaultId} policy={policy} etag={etag} onNote={setNote} />}
      </QueryView>
      <p className="policy-note" role="status">
        {note}
      </p>
    </section>
  );
}

interface FormProps {
  readonly vaultId: string;
  readonly policy: Retention;
  readonly etag: string;
  readonly onNote: (text: string) => void;
}

type Typed = Readonly<Record<RuleName, string>>;

function typedOf(policy: Retention): Typed {
  const names: readonly RuleName[] = [...rules, ...limits];
  return Object.fromEntries(names.map((name) => [name, policy[name]?.toString() ?? ""])) as Typed;
}

/** An empty field is no rule. */
function policyOf(typed: Typed): RetentionPolicyChange {
  const entries = Object.entries(typed).map(([name, text]) => [name, text === "" ? null : Number(text)]);
  return Object.fromEntries(entries) as RetentionPolicyChange;
}

function Form({ vaultId, policy, etag, onNote }: FormProps) {
  const { whyNot, role, isSuspended } = useRights();
  const [typed, setTyped] = useState(typedOf(policy));
  const simulate = useMutation({
    mutationFn: () => client.retention.simulate({ body: { vault_id: vaultId, policy: policyOf(typed) } }),
  });
  const save = useAct(
    (_: undefined, options) =>
      client.vaults.setRetention.answer({ id: vaultId, body: policyOf(typed) }, { ...unkeyed(options), ifMatch: etag }),
    {
      changes: ["retention", "pending-acts"],
      onDone: ({ status }) => onNote(status === 202 ? r.savedLater : r.saved),
    },
  );
  const errors = fieldErrors(save.error ?? simulate.error);
  const isOld = isProblem(save.error, "precondition_failed");
  useEffect(() => {
    if (!isOld) return;
    onNote(r.changedMeanwhile);
    void queries.invalidateQueries({ queryKey: ["retention"] });
  }, [isOld, onNote]);
  const mayWrite = role === "owner" || role === "manager";
  const why = mayWrite ? whyNot("snapshots:write") : t.states.noPermission(t.roles.manager ?? "");
  const set = (name: RuleName) => (text: string) => setTyped({ ...typed, [name]: text.replaceAll(/\D/g, "") });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why === undefined) save.mutate(undefined);
  };
  const fields = { typed, set, errors, isReadOnly: why !== undefined };
  return (
    <form className="policy-form" onSubmit={submit}>
      <p className="lead">{rules.every((name) => policy[name] === null) ? r.keepsAll : r.keeps}</p>
      {policy.pending !== null && <p className="settings-warning">{r.waits(dayAndTime(policy.pending.due_at))}</p>}
      <Rules {...fields} />
      <FormError text={errors.size > 0 || isOld ? null : actMessage(save.error)} />
      <ActError error={errors.size > 0 ? null : simulate.error} />
      {simulate.data !== undefined && <Simulated result={simulate.data} />}
      <div className="settings-save">
        <Button
          busy={simulate.isPending}
          unavailable={isSuspended ? t.states.suspendedAction : undefined}
          onClick={() => simulate.mutate()}
        >
          {r.simulate}
        </Button>
        <Button look="primary" type="submit" unavailable={why} busy={save.isPending}>
          {r.save}
        </Button>
      </div>
    </form>
  );
}

interface RulesProps {
  readonly typed: Typed;
  readonly set: (name: RuleName) => (text: string) => void;
  readonly errors: ReadonlyMap<string, string>;
  readonly isReadOnly: boolean;
}

function Rules({ typed, set, errors, isReadOnly }: RulesProps) {
  const hints: Partial<Record<RuleName, string>> = { floor_days: r.floorHint, ceiling_days: r.ceilingHint };
  const field = (name: RuleName) => (
    <TextField
      key={name}
      label={r.rules[name] ?? name}
      hint={hints[name]}
      error={errors.get(`/${name}`) ?? errors.get(`/policy/${name}`)}
      type="number"
      inputMode="numeric"
      placeholder={r.none}
      min={bounds[name]?.min ?? 1}
      max={bounds[name]?.max ?? mostKept}
      readOnly={isReadOnly}
      value={typed[name]}
      onText={set(name)}
    />
  );
  return (
    <>
      <div className="policy-limits">{limits.map(field)}</div>
      <div className="policy-rules">{rules.map(field)}</div>
      <p className="field-hint">{r.emptyHint}</p>
    </>
  );
}

/** As many as are read at a glance. */
const shownRemovals = 20;

function Simulated({ result }: { readonly result: RetentionSimulated }) {
  const going = result.snapshots.filter(({ removed_by: by }) => by !== null);
  return (
    <div className="simulated" role="status">
      <h3>{r.simulated}</h3>
      <p>
        <strong>{result.removed === 0 ? r.nothingGoes : r.removed(result.removed)}</strong>, {r.kept(result.kept)}
        {result.removed > 0 && `, ${r.freed(size(result.freed_bytes), result.freed_bytes)}`}.
        {result.repack_bytes > 0 && ` ${r.repack(size(result.repack_bytes))}`}
      </p>
      {going.length > 0 && (
        <ul className="simulated-list">
          {going.slice(0, shownRemovals).map(({ id, completed_at: at }) => (
            <li key={id}>
              <Link to="/app/snapshots/$id" params={{ id }}>
                {dayAndTime(at)}
              </Link>
            </li>
          ))}
          {result.removed > shownRemovals && <li>{r.moreGo(result.removed - shownRemovals)}</li>}
        </ul>
      )}
    </div>
  );
}
