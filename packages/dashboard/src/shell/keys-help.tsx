/** The keys of the page, and the switch for single letters. Loaded when it is asked for. */

import { useRights } from "../api/rights.ts";
import { useObservable } from "../observable.ts";
import { Check } from "../parts/check.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { h } from "../strings/help.ts";
import { lettersAreOn, setLetters } from "./keys.ts";
import { placesOf, settingsPlace } from "./places.tsx";

interface Line {
  readonly keys: readonly string[];
  readonly text: string;
}

export function KeysHelp({ onClose }: { readonly onClose: () => void }) {
  const { may } = useRights();
  const isOn = useObservable(lettersAreOn);
  const places = [...placesOf(may).flatMap((group) => group.places), settingsPlace()];
  const goes = places.flatMap(({ key, text }): Line[] =>
    key === undefined ? [] : [{ keys: ["G", key.toUpperCase()], text }],
  );
  return (
    <Dialog title={h.title} className="dialog-narrow" onClose={onClose}>
      <div className="dialog-body">
        <Lines title={h.everywhere} lines={h.always} />
        <Lines title={h.letters} lines={h.single} />
        <Lines title={h.places} lines={goes} />
        <Check checked={isOn} onChecked={setLetters}>
          {h.lettersOn}
        </Check>
        <p className="field-hint">{h.lettersHint}</p>
      </div>
    </Dialog>
  );
}

function Lines({ title, lines }: { readonly title: string; readonly lines: readonly Line[] }) {
  return (
    <section className="keys-help" aria-label={title}>
      <h3>{title}</h3>
      <dl>
        {lines.map(({ keys, text }) => (
          <div key={text}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
