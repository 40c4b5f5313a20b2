/** A change that staff make: it asks for the reason, which the audit trail keeps. */

import type { CallOptions } from "@emanet/client/source";
import { type FormEvent, type ReactNode, useState } from "react";
import { useAct } from "../api/act.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { f } from "../strings/staff.ts";
import { actMessage, DialogButtons } from "./act-dialogs.tsx";
import { Dialog } from "./dialog.tsx";
import { Field, FormError } from "./field.tsx";

interface ReasonDialogProps {
  readonly title: string;
  readonly detail: string;
  readonly hint?: string;
  readonly act: (reason: string, options: CallOptions) => Promise<unknown>;
  readonly onClose: () => void;
  /** What else the change needs. */
  readonly children?: ReactNode;
}

export function ReasonDialog({ title, detail, hint = f.reasonHint, act, onClose, children }: ReasonDialogProps) {
  const [reason, setReason] = useState("");
  const work = useAct(act, { changes: ["staff"], onDone: onClose });
  const errors = fieldErrors(work.error);
  // What is wrong with another field is said above: only the reason has its field here.
  const others = [...errors].flatMap(([pointer, text]) => (pointer === "/reason" ? [] : [text]));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate(reason);
  };
  return (
    <Dialog title={title} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <p className="lead">{detail}</p>
        <FormError text={others[0] ?? (errors.size === 0 ? actMessage(work.error) : null)} />
        {children}
        <Field label={f.reason} hint={hint} error={errors.get("/reason")}>
          {(ids) => (
            <textarea
              {...ids}
              className="input"
              rows={3}
              required
              minLength={3}
              maxLength={500}
              value={reason}
              // One line: the reason is part of a record.
              onChange={(event) => setReason(event.target.value.replaceAll(/\s/g, " "))}
            />
          )}
        </Field>
        <DialogButtons onCancel={onClose} submit={title} busy={work.isPending} />
      </form>
    </Dialog>
  );
}
