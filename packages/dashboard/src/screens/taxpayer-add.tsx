/** Adds one taxpayer. The tax number is checked while it is typed; what the service finds wrong stands at its field. */

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { client, queries } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { perform } from "../api/step-up.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { errorText } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { isTaxId } from "../tax-id.ts";

export function AddTaxpayer({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [taxId, setTaxId] = useState("");
  const [isChecked, setChecked] = useState(false);
  const creation = useMutation({
    mutationFn: () => perform((options) => client.taxpayers.create({ body: { name, tax_id: taxId } }, options)),
    onSuccess: async () => {
      onClose();
      await Promise.all(["taxpayers", "nights", "vaults"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
  const errors = fieldErrors(creation.error);
  const wrongId = isChecked && !isTaxId(taxId) ? t.taxpayers.taxIdWrong : errors.get("/tax_id");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (isTaxId(taxId)) creation.mutate();
  };
  return (
    <Dialog title={t.taxpayers.add} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <FormError text={creation.error !== null && errors.size === 0 ? errorText(creation.error).title : null} />
        <Field label={t.taxpayers.nameLabel} error={errors.get("/name")}>
          {(ids) => (
            <input
              {...ids}
              className="input"
              required
              maxLength={200}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={t.taxpayers.taxId} hint={t.taxpayers.taxIdHint} error={wrongId}>
          {(ids) => (
            <input
              {...ids}
              className="input"
              required
              inputMode="numeric"
              maxLength={14}
              value={taxId}
              onBlur={() => setChecked(taxId !== "")}
              onChange={(event) => setTaxId(event.target.value.replaceAll(/\D/g, ""))}
            />
          )}
        </Field>
        <div className="dialog-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button look="primary" type="submit" busy={creation.isPending}>
            {t.taxpayers.add}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
