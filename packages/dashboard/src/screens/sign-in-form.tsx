/** E-mail, password and second factor. Used by the sign-in screen, and over the page when a session is over. */

import { ArrowRight, Eye, EyeOff } from "lucide-react";
import { type FormEvent, useRef, useState } from "react";
import { client } from "../api/client.ts";
import { takeAnswer } from "../api/session.ts";
import { useAttempts } from "../parts/attempt.ts";
import { Button } from "../parts/button.tsx";
import { CodeInput } from "../parts/code-input.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { t } from "../strings/index.ts";

interface Typed {
  readonly email: string;
  readonly password: string;
  readonly code: string;
}

/** The state of the form and what its two buttons do. */
function useSignIn() {
  const [typed, setTyped] = useState<Typed>({ email: "", password: "", code: "" });
  const [challenge, setChallenge] = useState<string | null>(null);
  const { failure, setFailure, isBusy, attempt } = useAttempts(t.signIn.wrong);
  const { email, password, code } = typed;
  const signIn = () =>
    attempt(async () => {
      const factor = { totp_code: code, ...(challenge !== null && { otp_challenge_id: challenge }) };
      takeAnswer(await client.auth.login({ body: { email, password, ...factor, client: "dashboard" } }));
    });
  const sendSms = () =>
    attempt(async () => {
      const { challenge_id } = await client.auth.requestSmsCode({ body: { email, password } });
      setChallenge(challenge_id);
      setTyped((before) => ({ ...before, code: "" }));
    });
  return { typed, setTyped, challenge, failure, setFailure, isBusy, signIn, sendSms };
}

export function SignInForm() {
  const { typed, setTyped, challenge, failure, setFailure, isBusy, signIn, sendSms } = useSignIn();
  const code = useRef<HTMLInputElement>(null);
  const set = (part: Partial<Typed>) => setTyped((before) => ({ ...before, ...part }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void signIn();
  };
  const askSms = () => {
    if (typed.email === "" || typed.password === "") return setFailure(t.signIn.smsNeeds);
    void sendSms();
    code.current?.focus();
  };
  return (
    <form className="sign-in-form" onSubmit={submit}>
      <FormError text={failure} />
      <Field label={t.signIn.email}>
        {(ids) => (
          <input
            {...ids}
            className="input input-large"
            type="email"
            name="email"
            autoComplete="username"
            required
            maxLength={254}
            value={typed.email}
            onChange={(event) => set({ email: event.target.value })}
          />
        )}
      </Field>
      <PasswordField value={typed.password} onValue={(password) => set({ password })} />
      <Field
        label={t.signIn.code}
        hint={challenge === null ? t.signIn.hint : t.signIn.smsSent}
        aside={
          <button type="button" className="text-button" onClick={askSms}>
            {t.signIn.bySms}
          </button>
        }
      >
        {(ids) => <CodeInput {...ids} ref={code} value={typed.code} onValue={(value) => set({ code: value })} />}
      </Field>
      <Button look="primary" size="large" type="submit" busy={isBusy} className="wide">
        {t.signIn.submit}
        <ArrowRight size={16} aria-hidden="true" />
      </Button>
    </form>
  );
}

function PasswordField({ value, onValue }: { readonly value: string; readonly onValue: (value: string) => void }) {
  const [isShown, setShown] = useState(false);
  return (
    <Field label={t.signIn.password} aside={<a href="/reset-password/request">{t.signIn.forgot}</a>}>
      {(ids) => (
        <div className="input-with-button">
          <input
            {...ids}
            className="input input-large"
            type={isShown ? "text" : "password"}
            name="password"
            autoComplete="current-password"
            required
            maxLength={1024}
            value={value}
            onChange={(event) => onValue(event.target.value)}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={isShown ? t.signIn.hide : t.signIn.show}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? <EyeOff size={18} aria-hidden="true" /> : <Eye size={18} aria-hidden="true" />}
          </button>
        </div>
      )}
    </Field>
  );
}
