/** Adds one taxpayer. The tax number is checked while it is typed; what the service finds wrong stands at its field. */

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { client, queries } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { perform } from "../api/step-up.ts";
import { actMessage, DialogButtons } from "../parts/act-dialogs.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormError } from "../parts/field.tsx";
import { TextField } from "../parts/text-field.tsx";
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
        <FormError text={errors.size === 0 ? actMessage(creation.error) : null} />
        <TextField
          label={t.taxpayers.nameLabel}
          error={errors.get("/name")}
          required
          maxLength={200}
          value={name}
          onText={setName}
        />
        <TextField
          label={t.taxpayers.taxId}
          hint={t.taxpayers.taxIdHint}
          error={wrongId}
          required
          inputMode="numeric"
          maxLength={14}
          value={taxId}
          onBlur={() => setChecked(taxId !== "")}
          onText={(text) => setTaxId(text.replaceAll(/\D/g, ""))}
        />
        <DialogButtons onCancel={onClose} submit={t.taxpayers.add} busy={creation.isPending} />
      </form>
    </Dialog>
  );
}
