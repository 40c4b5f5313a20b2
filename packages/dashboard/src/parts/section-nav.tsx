/** The sections of a screen, each with its address: the first one has the address of the screen. */

import { Link } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";

interface Section {
  readonly id: string;
  readonly text: string;
  readonly Icon: LucideIcon;
}

interface SectionNavProps {
  readonly to: "/app/settings" | "/app/staff";
  readonly label: string;
  readonly className: string;
  readonly sections: readonly Section[];
}

export function SectionNav({ to, label, className, sections }: SectionNavProps) {
  return (
    <nav className={className} aria-label={label}>
      {sections.map(({ id, text, Icon }, place) => (
        <Link
          key={id}
          to={to}
          search={place === 0 ? {} : { tab: id }}
          activeOptions={{ exact: true, includeSearch: true }}
          className="place"
        >
          <Icon size={16} aria-hidden="true" />
          {text}
        </Link>
      ))}
    </nav>
  );
}
