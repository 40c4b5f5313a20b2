/** A corporate account asks for another limit; staff decide. */

import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { rateLimitsQuery } from "../api/queries.ts";
import { actMessage, DialogButtons } from "../parts/act-dialogs.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { s } from "../strings/settings.ts";

/** Those that can be asked for; the others are not counted per account. */
const policies = [
  ...(["package", "snapshots_create", "snapshots_create_hour", "snapshots_list", "restore_create"] as const),
  ...(["audit_export", "token", "webhook_sends", "webhook_verify_debug"] as const),
];
export type Policy = (typeof policies)[number];

export function AskLimit({ onClose }: { readonly onClose: () => void }) {
  const { data: limits } = useQuery(rateLimitsQuery);
  const [policy, setPolicy] = useState<Policy>("package");
  const [amount, setAmount] = useState(1000);
  const [window, setWindow] = useState(60);
  const [reason, setReason] = useState("");
  const work = useAct(
    (_: undefined, options) =>
      client.rateLimits.request({ body: { policy, limit: amount, window_s: window, reason } }, options),
    { changes: ["limit-requests"], onDone: onClose },
  );
  const errors = fieldErrors(work.error);
  const choose = (next: Policy) => {
    setPolicy(next);
    const now = limits?.find((one) => one.policy === next);
    if (now !== undefined) setWindow(now.window_s);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate(undefined);
  };
  return (
    <Dialog title={s.usage.ask} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <p className="lead">{s.usage.askDetail}</p>
        <FormError text={errors.size === 0 ? actMessage(work.error) : null} />
        <PolicyField value={policy} error={errors.get("/policy")} onValue={choose} />
        <NumberField of="amount" error={errors.get("/limit")} value={amount} onValue={setAmount} />
        <NumberField of="window" error={errors.get("/window_s")} value={window} onValue={setWindow} />
        <Field label={s.usage.askReason} error={errors.get("/reason")}>
          {(ids) => (
            <textarea
              {...ids}
              className="input"
              rows={3}
              required
              minLength={3}
              maxLength={2000}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </Field>
        <DialogButtons onCancel={onClose} submit={s.usage.askSend} busy={work.isPending} />
      </form>
    </Dialog>
  );
}

interface PolicyFieldProps {
  readonly value: Policy;
  readonly error?: string | undefined;
  readonly onValue: (value: Policy) => void;
}

export function PolicyField({ value, error, onValue }: PolicyFieldProps) {
  return (
    <Field label={s.usage.askLimit} error={error}>
      {(ids) => (
        <select
          {...ids}
          className="input"
          value={value}
          onChange={(event) => onValue(policies.find((one) => one === event.target.value) ?? "package")}
        >
          {policies.map((one) => (
            <option key={one} value={one}>
              {s.usage.policies[one] ?? one}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface NumberFieldProps {
  readonly of: "amount" | "window";
  readonly error?: string | undefined;
  readonly value: number;
  readonly onValue: (value: number) => void;
}

/** The service's highest numbers. */
const highest = { amount: 100_000, window: 86_400 } as const;

export function NumberField({ of, error, value, onValue }: NumberFieldProps) {
  return (
    <Field label={of === "amount" ? s.usage.askAmount : s.usage.askWindow} error={error}>
      {(ids) => (
        <input
          {...ids}
          type="number"
          className="input"
          required
          min={1}
          max={highest[of]}
          value={Number.isNaN(value) ? "" : value}
          onChange={(event) => onValue(event.target.valueAsNumber)}
        />
      )}
    </Field>
  );
}
