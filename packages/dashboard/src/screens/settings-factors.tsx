/** The dialogs that change a factor of one's own: password, authenticator, phone. */

import { isProblem, type RecoveryCodes, type TotpSetup } from "@emanet/client/source";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { perform } from "../api/step-up.ts";
import { ActError, actMessage, Copyable, DialogButtons } from "../parts/act-dialogs.tsx";
import { CodeInput } from "../parts/code-input.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { Skeleton } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";

/** The service's shortest password. */
const minPassword = 12;

interface DoneProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function ChangePassword({ onClose, onDone }: DoneProps) {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const work = useAct(
    (_: undefined, options) =>
      client.me.changePassword({ body: { current_password: current, new_password: next } }, unkeyed(options)),
    { changes: ["sessions"], onDone },
  );
  const isWrong = isProblem(work.error, "invalid_credentials");
  const errors = fieldErrors(work.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate(undefined);
  };
  return (
    <Dialog title={s.security.password} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <FormError text={isWrong || errors.size > 0 ? null : actMessage(work.error)} />
        <TextField
          label={s.security.current}
          error={isWrong ? s.security.passwordWrong : undefined}
          type="password"
          autoComplete="current-password"
          required
          maxLength={200}
          value={current}
          onText={setCurrent}
        />
        <TextField
          label={s.security.next}
          hint={s.security.nextHint}
          error={errors.get("/new_password")}
          type="password"
          autoComplete="new-password"
          required
          minLength={minPassword}
          maxLength={200}
          value={next}
          onText={setNext}
        />
        <DialogButtons onCancel={onClose} submit={s.security.change} busy={work.isPending} />
      </form>
    </Dialog>
  );
}

interface TotpProps {
  readonly onClose: () => void;
  readonly onDone: (codes: RecoveryCodes) => void;
}

/** The new authenticator counts when a code of it was sent. */
export function RenewTotp({ onClose, onDone }: TotpProps) {
  const [code, setCode] = useState("");
  const setup = useMutation({ mutationFn: () => perform((options) => client.me.beginTotp({}, unkeyed(options))) });
  const confirm = useAct(
    (_: undefined, options) => client.me.confirmTotp({ body: { totp_code: code } }, unkeyed(options)),
    { changes: ["me", "sessions"], onDone },
  );
  const { mutate: begin } = setup;
  useEffect(() => begin(), [begin]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    confirm.mutate(undefined);
  };
  const isWrong = isProblem(confirm.error, "invalid_credentials") || fieldErrors(confirm.error).size > 0;
  return (
    <Dialog title={s.security.totp} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        {setup.data === undefined && setup.error === null && <Skeleton lines={6} />}
        <ActError error={setup.error} />
        {setup.data !== undefined && (
          <>
            <Secret setup={setup.data} />
            <FormError text={isWrong ? t.stepUp.wrong : actMessage(confirm.error)} />
            <Field label={s.security.totpCode}>{(ids) => <CodeInput {...ids} value={code} onValue={setCode} />}</Field>
            <DialogButtons onCancel={onClose} submit={s.security.totpConfirm} busy={confirm.isPending} />
          </>
        )}
      </form>
    </Dialog>
  );
}

function Secret({ setup }: { readonly setup: TotpSetup }) {
  return (
    <>
      <p>{s.security.totpScan}</p>
      <img
        className="totp-qr"
        src={`data:image/png;base64,${setup.qr_png}`}
        alt={s.security.totpQr}
        width="180"
        height="180"
      />
      <p className="field-hint">{s.security.totpSecret}</p>
      <Copyable text={setup.totp_secret} />
    </>
  );
}

export function ChangePhone({ onClose, onDone }: DoneProps) {
  const [phone, setPhone] = useState("");
  const [code, setCode] = useState("");
  const ask = useAct((_: undefined, options) => client.me.requestPhoneCode({ body: { phone } }, unkeyed(options)), {
    changes: [],
  });
  const challenge = ask.data?.challenge_id;
  const confirm = useAct(
    (id: string, options) => client.me.confirmPhone({ body: { challenge_id: id, code } }, unkeyed(options)),
    { changes: ["me", "members"], onDone },
  );
  const errors = fieldErrors(ask.error);
  const isWrong = isProblem(confirm.error, "invalid_credentials") || fieldErrors(confirm.error).size > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (challenge === undefined) ask.mutate(undefined);
    else confirm.mutate(challenge);
  };
  return (
    <Dialog title={s.security.phone} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <FormError
          text={isWrong ? t.stepUp.wrong : errors.size === 0 ? actMessage(ask.error ?? confirm.error) : null}
        />
        <TextField
          label={s.security.phoneNew}
          hint={s.security.phoneHint}
          error={errors.get("/phone")}
          type="tel"
          autoComplete="tel"
          required
          minLength={10}
          maxLength={24}
          readOnly={challenge !== undefined}
          value={phone}
          onText={setPhone}
        />
        {challenge !== undefined && (
          <Field label={s.security.phoneCode}>
            {(ids) => <CodeInput {...ids} value={code} onValue={setCode} autoFocus />}
          </Field>
        )}
        <DialogButtons
          onCancel={onClose}
          submit={challenge === undefined ? s.security.phoneSend : s.security.change}
          busy={ask.isPending || confirm.isPending}
        />
      </form>
    </Dialog>
  );
}
