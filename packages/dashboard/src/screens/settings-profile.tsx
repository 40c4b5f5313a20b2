/** The person's own name and the language of messages. */

import type { Me } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { meQuery } from "../api/queries.ts";
import { actMessage } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { Segments } from "../parts/segments.tsx";
import { QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";

export function ProfileSettings() {
  return <QueryView query={useQuery(meQuery)}>{(me) => <Form me={me} />}</QueryView>;
}

function Form({ me }: { readonly me: Me }) {
  const [name, setName] = useState(me.full_name);
  const [language, setLanguage] = useState(languageOf(me.language));
  const save = useAct(
    (body: { full_name: string; language: "tr" | "en" }, options) => client.me.update({ body }, unkeyed(options)),
    {
      changes: ["me", "members"],
    },
  );
  const errors = fieldErrors(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ full_name: name, language });
  };
  return (
    <section className="card" aria-labelledby="profile-title">
      <form className="settings-form" onSubmit={submit}>
        <h2 id="profile-title">{s.profile.title}</h2>
        <FormError text={errors.size === 0 ? actMessage(save.error) : null} />
        <TextField
          label={s.profile.name}
          error={errors.get("/full_name")}
          required
          maxLength={200}
          autoComplete="name"
          value={name}
          onText={setName}
        />
        <Field label={s.profile.email} hint={s.profile.emailHint}>
          {(ids) => <input {...ids} className="input" value={me.email} readOnly />}
        </Field>
        <LanguageField
          label={s.profile.language}
          hint={s.profile.languageHint}
          value={language}
          onValue={setLanguage}
        />
        <SaveLine busy={save.isPending} isSaved={save.isSuccess} />
      </form>
    </section>
  );
}

/** A language of a later release is written as Turkish until then. */
export function languageOf(text: string): "tr" | "en" {
  return text === "en" ? "en" : "tr";
}

interface LanguageFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: "tr" | "en";
  readonly onValue: (value: "tr" | "en") => void;
}

export function LanguageField({ label, hint, value, onValue }: LanguageFieldProps) {
  const options = [
    { value: "tr", text: <span lang="tr">{s.profile.turkish}</span> },
    { value: "en", text: <span lang="en">{s.profile.english}</span> },
  ] as const;
  return (
    <div className="field">
      <span className="field-name">{label}</span>
      <Segments label={label} value={value} onValue={onValue} options={options} className="segments-start" />
      {hint !== undefined && <p className="field-hint">{hint}</p>}
    </div>
  );
}

interface SaveLineProps {
  readonly busy: boolean;
  readonly isSaved: boolean;
  readonly unavailable?: string | undefined;
}

export function SaveLine({ busy, isSaved, unavailable }: SaveLineProps) {
  return (
    <div className="settings-save">
      <Button look="primary" type="submit" busy={busy} unavailable={unavailable}>
        {t.save}
      </Button>
      <span role="status">{isSaved ? s.profile.saved : ""}</span>
    </div>
  );
}
