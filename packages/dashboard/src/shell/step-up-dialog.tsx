/** Asks for a fresh second factor: the code of the authenticator, of an SMS, or a recovery code. */

import type { CodeChallenge } from "@emanet/client/source";
import { ShieldCheck } from "lucide-react";
import { type FormEvent, useState } from "react";
import { client } from "../api/client.ts";
import { takeAnswer } from "../api/session.ts";
import { askedStepUp } from "../api/step-up.ts";
import { useObservable } from "../observable.ts";
import { DialogButtons } from "../parts/act-dialogs.tsx";
import { useAttempts } from "../parts/attempt.ts";
import { CodeInput } from "../parts/code-input.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { t } from "../strings/index.ts";

export function StepUpDialog() {
  const asked = useObservable(askedStepUp);
  if (asked === null) return null;
  return (
    <Dialog title={t.stepUp.title} className="dialog-narrow" onClose={() => asked.answer(false)}>
      <StepUpForm onDone={() => asked.answer(true)} onCancel={() => asked.answer(false)} />
    </Dialog>
  );
}

function StepUpForm({ onDone, onCancel }: { readonly onDone: () => void; readonly onCancel: () => void }) {
  const [code, setCode] = useState("");
  const [challenge, setChallenge] = useState<string | null>(null);
  const { failure, isBusy, attempt } = useAttempts(t.stepUp.wrong);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt(async () => {
      const factor = { totp_code: code, ...(challenge !== null && { otp_challenge_id: challenge }) };
      takeAnswer(await client.auth.stepUp({ body: factor }));
      onDone();
    });
  };
  const sendSms = () =>
    void attempt(async () => {
      // With the token of the session: the operation of the client sends none.
      const path = "/v1/auth/sms-otp/request";
      const sent = await client.request({ method: "POST", path, body: "{}", contentType: "application/json" });
      setChallenge(((await sent.response.json()) as CodeChallenge).challenge_id);
      setCode("");
    });
  return (
    <form className="dialog-body" onSubmit={submit}>
      <p className="lead">
        <ShieldCheck size={16} aria-hidden="true" /> {t.stepUp.lead}
      </p>
      <FormError text={failure} />
      <Field label={t.signIn.code} hint={challenge === null ? t.signIn.hint : t.stepUp.smsSent}>
        {(ids) => <CodeInput {...ids} value={code} onValue={setCode} autoFocus />}
      </Field>
      <button type="button" className="text-button" onClick={sendSms}>
        {t.stepUp.bySms}
      </button>
      <DialogButtons onCancel={onCancel} submit={t.stepUp.confirm} busy={isBusy} />
    </form>
  );
}
