/** A labelled field with its hint and its error, and the error of a whole form. */

import { type ReactNode, useId } from "react";

interface FieldProps {
  readonly label: string;
  readonly aside?: ReactNode;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  readonly children: (ids: {
    readonly id: string;
    readonly "aria-describedby"?: string;
    readonly "aria-invalid"?: true;
  }) => ReactNode;
}

export function Field({ label, aside, hint, error, children }: FieldProps) {
  const id = useId();
  const about = error ?? hint;
  return (
    <div className="field">
      <div className="field-label">
        <label htmlFor={id}>{label}</label>
        {aside}
      </div>
      {children({
        id,
        ...(about !== undefined && { "aria-describedby": `${id}-about` }),
        ...(error !== undefined && { "aria-invalid": true }),
      })}
      {about !== undefined && (
        <p id={`${id}-about`} className={error === undefined ? "field-hint" : "field-error"}>
          {about}
        </p>
      )}
    </div>
  );
}

export function FormError({ text }: { readonly text: string | null }) {
  return (
    <div role="alert" className="form-error-place">
      {text !== null && <p className="form-error">{text}</p>}
    </div>
  );
}
