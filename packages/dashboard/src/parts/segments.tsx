/** A choice of a few: one is always chosen. Radio buttons, drawn as one bar. */

import { type ReactNode, useId } from "react";

interface SegmentsProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly text: ReactNode; readonly disabled?: boolean }[];
  readonly onValue: (value: T) => void;
  readonly className?: string;
}

export function Segments<T extends string>({ label, value, options, onValue, className = "" }: SegmentsProps<T>) {
  const name = useId();
  return (
    <fieldset className={`segments ${className}`}>
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="segment">
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={option.value === value}
            disabled={option.disabled === true}
            onChange={() => onValue(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  );
}
