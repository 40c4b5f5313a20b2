/** The account: its name and language, its package and what belongs to it. */

import type { Account } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { saveBlob } from "../api/downloads.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { accountQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { day, today } from "../format.ts";
import { ActError, actMessage, ConfirmDialog } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
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
          <Data />
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

/** Owners take everything with them, and close the account; the closing waits. */
function Data() {
  const { role } = useRights();
  const [isAsked, setAsked] = useState(false);
  const [note, setNote] = useState("");
  // Both also work in a suspended account.
  const why = role === "owner" ? undefined : t.states.noPermission(t.roles.owner ?? "");
  const work = useMutation({
    mutationFn: async () => {
      const { response } = await client.request({ method: "GET", path: "/v1/account/export", timeoutMs: 0 });
      saveBlob(await response.blob(), `emanet-${today()}.ndjson`);
    },
  });
  return (
    <section className="card" aria-labelledby="data-title">
      <header className="card-header">
        <h2 id="data-title">{s.account.data}</h2>
      </header>
      <p className="settings-note" role="status">
        {note}
      </p>
      <ul className="rows">
        <li className="row">
          <div>
            <strong>{s.account.export}</strong>
            <span>{s.account.exportDetail}</span>
            <ActError error={work.error} />
          </div>
          <Button size="small" unavailable={why} busy={work.isPending} onClick={() => work.mutate()}>
            {s.account.export}
          </Button>
        </li>
        <li className="row">
          <div>
            <strong>{s.account.close}</strong>
            <span>{s.account.closeDetail}</span>
          </div>
          <Button size="small" look="danger" unavailable={why} onClick={() => setAsked(true)}>
            {s.account.close}
          </Button>
        </li>
      </ul>
      {isAsked && <Close onClose={() => setAsked(false)} onDone={() => setNote(s.account.closing)} />}
    </section>
  );
}

function Close({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const work = useAct((_: undefined, options) => client.account.close({}, options), {
    changes: ["account", "pending-acts"],
    onDone: () => {
      onClose();
      onDone();
    },
  });
  return (
    <ConfirmDialog
      title={s.account.closeAsk}
      detail={s.account.closeDetail}
      confirm={s.account.close}
      isDanger
      work={{ ...work, mutate: () => work.mutate(undefined) }}
      onClose={onClose}
    />
  );
}

/** Why this person cannot change the account's own settings; undefined for owners. */
export function useOwnersOnly(): string | undefined {
  const { role, isSuspended } = useRights();
  if (role !== "owner") return t.states.noPermission(t.roles.owner ?? "");
  return isSuspended ? t.states.suspendedAction : undefined;
}
