/** A field with one of few values. */

import { Field } from "./field.tsx";

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly values: readonly T[];
  readonly texts: Readonly<Record<string, string>>;
  readonly value: T;
  readonly onValue: (value: T) => void;
}

export function Choice<T extends string>({ label, values, texts, value, onValue }: ChoiceProps<T>) {
  return (
    <Field label={label}>
      {(ids) => (
        <select
          {...ids}
          className="input"
          value={value}
          onChange={(event) => onValue(values.find((one) => one === event.target.value) ?? value)}
        >
          {values.map((one) => (
            <option key={one} value={one}>
              {texts[one] ?? one}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
