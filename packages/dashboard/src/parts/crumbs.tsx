/** The title of a screen below another one: the way back, and the name. */

import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { ShownName } from "./shown-name.tsx";

interface CrumbsProps {
  readonly to: "/app/taxpayers" | "/app/webhooks";
  readonly parent: string;
  readonly name: string;
}

export function Crumbs({ to, parent, name }: CrumbsProps) {
  return (
    <div className="crumbs">
      <Link to={to}>{parent}</Link>
      <ChevronRight size={14} aria-hidden="true" />
      <h1>
        <ShownName name={name} />
      </h1>
    </div>
  );
}
