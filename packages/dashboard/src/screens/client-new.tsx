/** The form for a new API client: its name, its rights, its vaults. Then its id and its secret, once. */

import type { NewOauthClient } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { client, queries } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { vaultsQuery } from "../api/queries.ts";
import { perform } from "../api/step-up.ts";
import { actMessage, Copyable, DialogButtons, SecretDialog } from "../parts/act-dialogs.tsx";
import { Check } from "../parts/check.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormError } from "../parts/field.tsx";
import { Segments } from "../parts/segments.tsx";
import { QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { VaultPicker } from "../parts/vault-picker.tsx";
import { t } from "../strings/index.ts";

type Scope = NewOauthClient["scopes"][number];

export interface Wishes {
  readonly name: string;
  readonly scopes: readonly Scope[];
}

const scopeNames: readonly Scope[] = [
  ...(["snapshots:read", "snapshots:write", "restores:read", "restores:write", "restores:agent"] as const),
  ...(["taxpayers:read", "taxpayers:write", "audit:read", "webhooks:read", "webhooks:write"] as const),
  ...(["account:read", "account:write"] as const),
];

export function NewClient({ wishes, onClose }: { readonly wishes: Wishes; readonly onClose: () => void }) {
  const [name, setName] = useState(wishes.name);
  const [scopes, setScopes] = useState<readonly Scope[]>(wishes.scopes);
  /** Null for all vaults. */
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null);
  const [missing, setMissing] = useState<string | null>(null);
  const work = useMutation({
    mutationFn: () =>
      perform((options) =>
        client.oauthClients.create(
          { body: { name, scopes, vault_ids: chosen === null ? null : [...chosen] } },
          options,
        ),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["clients"] }),
  });
  const errors = fieldErrors(work.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const lacks = scopes.length === 0 ? t.clients.scopesNeeded : chosen?.size === 0 ? t.clients.vaultsNeeded : null;
    setMissing(lacks);
    if (lacks === null) work.mutate();
  };
  if (work.data !== undefined)
    return (
      <SecretDialog
        title={t.clients.secret}
        detail={t.clients.secretDetail}
        secret={work.data.secret ?? ""}
        onClose={onClose}
      >
        <div className="field">
          <span className="field-label">{t.clients.id}</span>
          <Copyable text={work.data.client.id} label={`${t.copy}: ${t.clients.id}`} />
        </div>
      </SecretDialog>
    );
  return (
    <Dialog title={t.clients.add} className="dialog-connect" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <FormError text={missing ?? (errors.has("/name") ? null : actMessage(work.error))} />
        <TextField
          label={t.clients.name}
          hint={t.clients.nameHint}
          error={errors.get("/name")}
          required
          maxLength={200}
          value={name}
          onText={setName}
        />
        <ScopePicker scopes={scopes} onScopes={setScopes} />
        <Where chosen={chosen} onChosen={setChosen} />
        <DialogButtons onCancel={onClose} submit={t.clients.add} busy={work.isPending} />
      </form>
    </Dialog>
  );
}

interface WhereProps {
  readonly chosen: ReadonlySet<string> | null;
  readonly onChosen: (chosen: ReadonlySet<string> | null) => void;
}

function Where({ chosen, onChosen }: WhereProps) {
  const vaults = useQuery(vaultsQuery);
  return (
    <>
      <div className="field">
        <span className="field-label">
          <strong>{t.clients.where}</strong>
        </span>
        <Segments
          label={t.clients.where}
          value={chosen === null ? "all" : "chosen"}
          onValue={(value) => onChosen(value === "all" ? null : new Set())}
          options={[
            { value: "all", text: t.clients.allVaults },
            { value: "chosen", text: t.clients.chosenVaults },
          ]}
        />
      </div>
      {chosen !== null && (
        <QueryView query={vaults} lines={6}>
          {(list) => <VaultPicker label={t.clients.chosenVaults} vaults={list} chosen={chosen} onChosen={onChosen} />}
        </QueryView>
      )}
    </>
  );
}

interface ScopePickerProps {
  readonly scopes: readonly Scope[];
  readonly onScopes: (scopes: readonly Scope[]) => void;
}

function ScopePicker({ scopes, onScopes }: ScopePickerProps) {
  return (
    <fieldset className="vault-picker">
      <legend>{t.clients.scopes}</legend>
      <div className="vault-list scope-list">
        {scopeNames.map((scope) => (
          <Check
            key={scope}
            checked={scopes.includes(scope)}
            onChecked={(isChosen) =>
              onScopes(isChosen ? [...scopes, scope] : scopes.filter((other) => other !== scope))
            }
          >
            {t.clients.scopeTexts[scope]} <code className="scope">{scope}</code>
          </Check>
        ))}
      </div>
    </fieldset>
  );
}
