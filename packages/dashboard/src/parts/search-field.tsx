/** The filter of a list. The key `/` goes to it. */

import { Search } from "lucide-react";
import { useSlashKey } from "../shell/keys.ts";

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

export function SearchField({ label, value, onValue }: SearchFieldProps) {
  const input = useSlashKey();
  return (
    <div className="search-field">
      <Search size={15} aria-hidden="true" />
      <input
        ref={input}
        type="search"
        className="input"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onValue(event.target.value)}
      />
      <span className="kbd" aria-hidden="true">
        /
      </span>
    </div>
  );
}
