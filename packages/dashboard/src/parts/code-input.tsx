/**
 * The second factor: one field, so that pasting and filling in by the browser work, drawn as six boxes. A recovery code has
 * letters; the field then looks like any other.
 */

import { type InputHTMLAttributes, type Ref, useState } from "react";

const digits = 6;

interface CodeInputProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly ref?: Ref<HTMLInputElement>;
}

export function CodeInput({ value, onValue, ...rest }: CodeInputProps) {
  const [hasFocus, setFocus] = useState(false);
  const isDigits = /^\d{0,6}$/.test(value);
  return (
    <div className={isDigits ? "code-input" : "code-input code-input-text"}>
      <input
        {...rest}
        className="code-field"
        value={value}
        inputMode={isDigits ? "numeric" : "text"}
        autoComplete="one-time-code"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={32}
        required
        onFocus={() => setFocus(true)}
        onBlur={() => setFocus(false)}
        onChange={(event) => onValue(cleaned(event.target.value))}
      />
      {isDigits && (
        <div className="code-boxes" aria-hidden="true">
          {Array.from({ length: digits }, (_, at) => (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: the boxes never move
              key={at}
              className={hasFocus && at === Math.min(value.length, digits - 1) ? "code-box code-box-next" : "code-box"}
            >
              {value[at] ?? ""}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

/** Spaces come from authenticators and messages ("518 204"). A seventh digit is not taken. */
function cleaned(text: string): string {
  const code = text.replaceAll(/\s/g, "");
  return /^\d+$/.test(code) ? code.slice(0, digits) : code;
}
