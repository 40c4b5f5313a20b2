/** A box to tick, with its label. */

import type { ReactNode } from "react";

interface CheckProps {
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
  readonly children: ReactNode;
  readonly required?: boolean;
  readonly disabled?: boolean;
}

export function Check({ checked, onChecked, children, ...rest }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" {...rest} checked={checked} onChange={(event) => onChecked(event.target.checked)} />
      <span>{children}</span>
    </label>
  );
}
