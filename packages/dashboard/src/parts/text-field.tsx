/** A labelled input for one line of text, with its hint and its error. */

import type { InputHTMLAttributes, ReactNode } from "react";
import { Field } from "./field.tsx";

type TextFieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, "onChange"> & {
  readonly label: string;
  readonly aside?: ReactNode;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  readonly onText: (text: string) => void;
};

export function TextField({ label, aside, hint, error, onText, className = "", ...input }: TextFieldProps) {
  return (
    <Field label={label} aside={aside} hint={hint} error={error}>
      {(ids) => (
        <input {...input} {...ids} className={`input ${className}`} onChange={(event) => onText(event.target.value)} />
      )}
    </Field>
  );
}
