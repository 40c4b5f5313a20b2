/** The account: its name and language, its package and what belongs to it. */

import type { Account } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { accountQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { day } from "../format.ts";
import { actMessage } from "../parts/act-dialogs.tsx";
import { FormError } from "../parts/field.tsx";
import { QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";
import { LanguageField, languageOf, SaveLine } from "./settings-profile.tsx";

export function PackageSettings() {
  return (
    <QueryView query={useQuery(accountQuery)} lines={6}>
      {(account) => (
        <>
          <Facts account={account} />
          <Form account={account} />
        </>
      )}
    </QueryView>
  );
}

function Facts({ account }: { readonly account: Account }) {
  const features = account.entitlements.map((one) => s.account.featureNames[one] ?? one);
  return (
    <section className="card details" aria-labelledby="package-title">
      <h2 id="package-title">{t.packages[account.package] ?? account.package}</h2>
      <dl>
        <dt>{s.account.state}</dt>
        <dd>{s.account.states[account.state] ?? account.state}</dd>
        <dt>{s.account.kind}</dt>
        <dd>{s.account.kinds[account.kind] ?? account.kind}</dd>
        <dt>{s.account.taxId}</dt>
        <dd>{account.tax_id}</dd>
        <dt>{s.account.features}</dt>
        <dd>{features.length === 0 ? s.account.noFeatures : features.join(", ")}</dd>
        {account.early_access && (
          <>
            <dt>{s.account.early}</dt>
            <dd>{s.account.earlyOn}</dd>
          </>
        )}
        <dt>{s.account.since}</dt>
        <dd>{day(account.created_at)}</dd>
      </dl>
    </section>
  );
}

function Form({ account }: { readonly account: Account }) {
  const why = useOwnersOnly();
  const [name, setName] = useState(account.name);
  const [language, setLanguage] = useState(languageOf(account.language));
  const save = useAct(
    (body: { name: string; language: "tr" | "en" }, options) => client.account.update({ body }, unkeyed(options)),
    {
      changes: ["account"],
    },
  );
  const errors = fieldErrors(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why === undefined) save.mutate({ name, language });
  };
  return (
    <section className="card" aria-label={s.account.name}>
      <form className="settings-form" onSubmit={submit}>
        <FormError text={errors.size === 0 ? actMessage(save.error) : null} />
        <TextField
          label={s.account.name}
          hint={s.account.nameHint}
          error={errors.get("/name")}
          required
          maxLength={200}
          readOnly={why !== undefined}
          value={name}
          onText={setName}
        />
        <LanguageField label={s.account.language} value={language} onValue={setLanguage} />
        <SaveLine busy={save.isPending} isSaved={save.isSuccess} unavailable={why} />
      </form>
    </section>
  );
}

/** Why this person cannot change the account's own settings; undefined for owners. */
export function useOwnersOnly(): string | undefined {
  const { role, isSuspended } = useRights();
  if (role !== "owner") return t.states.noPermission(t.roles.owner ?? "");
  return isSuspended ? t.states.suspendedAction : undefined;
}
