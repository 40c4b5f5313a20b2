/**
 * The application for an account: who applies, for what, and the consents. Tax number and phone are checked while they are
 * typed; what the service finds wrong stands at its field. The answer is the same whether or not the address is known.
 */

import type { ApplicationAccepted, NewApplication } from "@emanet/client/source";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { client } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { actMessage, Copyable } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Check } from "../parts/check.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { OpenFoot, OpenTop } from "../parts/open-frame.tsx";
import { Segments } from "../parts/segments.tsx";
import { TextField } from "../parts/text-field.tsx";
import { newKey } from "../platform.ts";
import { t } from "../strings/index.ts";
import { isMobile, isTaxId } from "../tax-id.ts";

type Typed = Omit<NewApplication, "note" | "consents"> & {
  readonly note: string;
  readonly terms: boolean;
  readonly privacy: boolean;
  readonly marketing: boolean;
};

const empty: Typed = {
  kind: "accounting_office",
  company_name: "",
  tax_id: "",
  package: "accountant",
  full_name: "",
  email: "",
  phone: "",
  note: "",
  terms: false,
  privacy: false,
  marketing: false,
};

export function Apply() {
  const [sent, setSent] = useState<{ readonly answer: ApplicationAccepted; readonly email: string } | null>(null);
  const title = sent === null ? t.apply.title : t.apply.doneTitle;
  useEffect(() => {
    document.title = `${title} · Emanet`;
  }, [title]);
  return (
    <div className="apply">
      <OpenTop />
      <main className="apply-main">
        {sent === null ? (
          <Form onSent={(answer, email) => setSent({ answer, email })} />
        ) : (
          <Sent answer={sent.answer} email={sent.email} />
        )}
      </main>
      <OpenFoot />
    </div>
  );
}

function bodyOf({ note, terms, privacy, marketing, ...rest }: Typed): NewApplication {
  return { ...rest, ...(note.trim() !== "" && { note }), consents: { terms, privacy, marketing } };
}

function Form({ onSent }: { readonly onSent: (answer: ApplicationAccepted, email: string) => void }) {
  const [typed, setTyped] = useState<Typed>(empty);
  const [isChecked, setChecked] = useState(false);
  // One key for one content: a repeated click sends one application.
  const key = useRef(newKey());
  const set = (part: Partial<Typed>) => {
    key.current = newKey();
    setTyped((before) => ({ ...before, ...part }));
  };
  const work = useMutation({
    mutationFn: () => client.applications.submit({ body: bodyOf(typed) }, { idempotencyKey: key.current }),
    onSuccess: (answer) => onSent(answer, typed.email),
  });
  const errors = fieldErrors(work.error);
  const isWrong = isChecked && !(isTaxId(typed.tax_id) && isMobile(typed.phone));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (isTaxId(typed.tax_id) && isMobile(typed.phone)) work.mutate();
  };
  return (
    <>
      <h1>{t.apply.title}</h1>
      <p className="lead">{t.apply.lead}</p>
      <form className="card apply-form" onSubmit={submit}>
        <FormError text={isWrong || errors.size > 0 ? t.apply.missing : actMessage(work.error)} />
        <Company typed={typed} set={set} errors={errors} isChecked={isChecked} />
        <Person typed={typed} set={set} errors={errors} isChecked={isChecked} />
        <Consents typed={typed} set={set} />
        <Button look="primary" size="large" type="submit" busy={work.isPending} className="wide">
          {t.apply.submit}
        </Button>
      </form>
      <p className="sign-in-apply">
        {t.apply.haveAccount} <Link to="/">{t.apply.signIn}</Link>
      </p>
    </>
  );
}

interface PartProps {
  readonly typed: Typed;
  readonly set: (part: Partial<Typed>) => void;
  readonly errors: ReadonlyMap<string, string>;
  readonly isChecked: boolean;
}

const packages = ["starter", "professional", "accountant", "corporate"] as const;

function Company({ typed, set, errors, isChecked }: PartProps) {
  const isOffice = typed.kind === "accounting_office";
  const [wasLeft, setLeft] = useState(false);
  const isGood = isTaxId(typed.tax_id);
  const wrongId = (isChecked || wasLeft) && !isGood ? t.taxpayers.taxIdWrong : errors.get("/tax_id");
  return (
    <>
      <div className="field">
        <span className="field-label">
          <strong>{t.apply.kind}</strong>
        </span>
        <Segments
          label={t.apply.kind}
          value={typed.kind}
          onValue={(kind) => set({ kind, package: kind === "company" ? "professional" : "accountant" })}
          options={[
            { value: "accounting_office", text: t.apply.office },
            { value: "company", text: t.apply.company },
          ]}
          className="segments-wide"
        />
      </div>
      <TextField
        label={isOffice ? t.apply.officeName : t.apply.companyName}
        error={errors.get("/company_name")}
        autoComplete="organization"
        required
        maxLength={200}
        value={typed.company_name}
        onText={(text) => set({ company_name: text })}
      />
      <TextField
        label={t.apply.taxId}
        hint={isGood ? t.apply.taxIdGood : t.apply.taxIdHint}
        error={wrongId}
        aside={isGood && <Glyph status="ok" size={15} />}
        inputMode="numeric"
        required
        maxLength={14}
        value={typed.tax_id}
        onBlur={() => setLeft(typed.tax_id !== "")}
        onText={(text) => set({ tax_id: text.replaceAll(/\D/g, "") })}
      />
      <Field label={t.apply.package} error={errors.get("/package")}>
        {(ids) => (
          <select
            {...ids}
            className="input"
            value={typed.package}
            onChange={(event) => set({ package: packages.find((one) => one === event.target.value) ?? "starter" })}
          >
            {packages.map((one) => (
              <option key={one} value={one}>
                {t.packages[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}

function Person({ typed, set, errors, isChecked }: PartProps) {
  const [wasLeft, setLeft] = useState(false);
  const wrongPhone = (isChecked || wasLeft) && !isMobile(typed.phone) ? t.apply.phoneWrong : errors.get("/phone");
  return (
    <>
      <TextField
        label={t.apply.fullName}
        error={errors.get("/full_name")}
        autoComplete="name"
        required
        maxLength={200}
        value={typed.full_name}
        onText={(text) => set({ full_name: text })}
      />
      <TextField
        label={t.apply.email}
        hint={t.apply.emailHint}
        error={errors.get("/email")}
        type="email"
        autoComplete="email"
        required
        maxLength={254}
        value={typed.email}
        onText={(text) => set({ email: text })}
      />
      <TextField
        label={t.apply.phone}
        hint={t.apply.phoneHint}
        error={wrongPhone}
        type="tel"
        autoComplete="tel"
        required
        maxLength={24}
        value={typed.phone}
        onBlur={() => setLeft(typed.phone !== "")}
        onText={(text) => set({ phone: text })}
      />
      <Field label={t.apply.note} aside={<span className="count">{t.apply.optional}</span>} error={errors.get("/note")}>
        {(ids) => (
          <textarea
            {...ids}
            className="input input-prose"
            rows={3}
            maxLength={2000}
            value={typed.note}
            onChange={(event) => set({ note: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}

function Consents({ typed, set }: Pick<PartProps, "typed" | "set">) {
  return (
    <fieldset className="apply-consents">
      <legend>{t.apply.consents}</legend>
      <Check checked={typed.terms} required onChecked={(terms) => set({ terms })}>
        {t.apply.terms}
      </Check>
      <Check checked={typed.privacy} required onChecked={(privacy) => set({ privacy })}>
        {t.apply.privacy}
      </Check>
      <Check checked={typed.marketing} onChecked={(marketing) => set({ marketing })}>
        {t.apply.marketing}
      </Check>
      <details>
        <summary>{t.apply.kept}</summary>
        <p>{t.apply.keptDetail}</p>
      </details>
    </fieldset>
  );
}

function Sent({ answer, email }: { readonly answer: ApplicationAccepted; readonly email: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The form with the focus has gone.
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="card apply-done">
      <Glyph status="ok" size={36} />
      <h1 ref={heading} tabIndex={-1}>
        {t.apply.doneTitle}
      </h1>
      <p className="lead">{t.apply.doneLead(email)}</p>
      <h2>{t.apply.doneNumber}</h2>
      <Copyable text={answer.id} />
      <h2>{t.apply.doneNext}</h2>
      <ol>
        {t.apply.doneSteps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <p className="lead">{t.apply.doneWithdraw}</p>
    </section>
  );
}
