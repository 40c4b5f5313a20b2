/** A choice among the vaults: a filter when they are many, all at once, and how many are chosen. */

import type { Vault } from "@emanet/client/source";
import { useState } from "react";
import { collator, folded } from "../format.ts";
import { t } from "../strings/index.ts";
import { Check } from "./check.tsx";
import { ShownName } from "./shown-name.tsx";

/** As many are seen without scrolling. */
const fewVaults = 8;

interface VaultPickerProps {
  readonly label: string;
  readonly vaults: readonly Vault[];
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
}

export function VaultPicker({ label, vaults, chosen, onChosen }: VaultPickerProps) {
  const [filter, setFilter] = useState("");
  const sorted = vaults.toSorted((one, other) => collator.compare(one.name, other.name));
  const shown = sorted.filter(({ name }) => folded(name).includes(folded(filter)));
  const isWhole = shown.length > 0 && shown.every(({ id }) => chosen.has(id));
  const mark = (ids: readonly string[], isChosen: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) isChosen ? next.add(id) : next.delete(id);
    onChosen(next);
  };
  return (
    <fieldset className="vault-picker">
      <legend>{label}</legend>
      {vaults.length > fewVaults && (
        <input
          type="search"
          className="input"
          aria-label={t.sources.vaultsFilter}
          placeholder={t.sources.vaultsFilter}
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      <div className="vault-list">
        {shown.length > 1 && (
          <Check
            checked={isWhole}
            onChecked={(isChosen) =>
              mark(
                shown.map(({ id }) => id),
                isChosen,
              )
            }
          >
            <strong>{t.sources.vaultsAll}</strong>
          </Check>
        )}
        {shown.map(({ id, name }) => (
          <Check key={id} checked={chosen.has(id)} onChecked={(isChosen) => mark([id], isChosen)}>
            <ShownName name={name} />
          </Check>
        ))}
      </div>
      <p className="field-hint" role="status">
        {t.sources.vaultsChosen(chosen.size, vaults.length)}
      </p>
    </fieldset>
  );
}
