/** The places of the navigation: who sees them, and where they lead. */

import {
  Building2,
  History,
  KeyRound,
  LayoutDashboard,
  RotateCcw,
  ScrollText,
  Server,
  Settings,
  ShieldCheck,
  Users,
  Webhook,
} from "lucide-react";
import type { ComponentType } from "react";
import type { Right } from "../api/rights.ts";
import { t } from "../strings/index.ts";

export interface Place {
  readonly to:
    | "/"
    | "/app/taxpayers"
    | "/app/snapshots"
    | "/app/restores"
    | "/app/sources"
    | "/app/webhooks"
    | "/app/clients"
    | "/app/audit"
    | "/app/retention"
    | "/app/staff"
    | "/app/settings";
  readonly text: string;
  readonly short?: string;
  readonly Icon: ComponentType<{ readonly size?: number; readonly "aria-hidden"?: "true" }>;
  readonly right: Right;
  /** The key after G. */
  readonly key?: string;
  readonly badge?: "taxpayers" | "sources" | "webhooks";
}

export interface PlaceGroup {
  readonly title: string | null;
  readonly places: readonly Place[];
}

/** Groups without a place that the role may open are left out. */
export function placesOf(may: (right: Right) => boolean): readonly PlaceGroup[] {
  const groups: readonly PlaceGroup[] = [
    {
      title: null,
      places: [
        {
          ...{ to: "/", text: t.nav.overview, short: t.nav.overviewShort, Icon: LayoutDashboard },
          ...{ right: "snapshots:read", key: "o" },
        },
        {
          ...{ to: "/app/taxpayers", text: t.nav.taxpayers, Icon: Users },
          ...{ right: "taxpayers:read", key: "m", badge: "taxpayers" },
        },
        { to: "/app/snapshots", text: t.nav.snapshots, Icon: History, right: "snapshots:read", key: "y" },
        {
          ...{ to: "/app/restores", text: t.nav.restores, short: t.overview.restore, Icon: RotateCcw },
          ...{ right: "restores:read", key: "g" },
        },
        {
          ...{ to: "/app/sources", text: t.nav.sources, Icon: Server },
          ...{ right: "snapshots:read", key: "k", badge: "sources" },
        },
      ],
    },
    {
      title: t.nav.connections,
      places: [
        {
          ...{ to: "/app/webhooks", text: t.nav.webhooks, Icon: Webhook },
          ...{ right: "webhooks:read", key: "w", badge: "webhooks" },
        },
        { to: "/app/clients", text: t.nav.clients, Icon: KeyRound, right: "account:write" },
      ],
    },
    {
      title: t.nav.trust,
      places: [
        {
          ...{ to: "/app/audit", text: t.nav.audit, short: t.nav.auditShort, Icon: ScrollText },
          ...{ right: "audit:read", key: "d" },
        },
        { to: "/app/retention", text: t.nav.retention, Icon: ShieldCheck, right: "snapshots:read" },
      ],
    },
    { title: null, places: [{ to: "/app/staff", text: t.nav.staff, Icon: Building2, right: "admin" }] },
  ];
  return groups
    .map((group) => ({ ...group, places: group.places.filter(({ right }) => may(right)) }))
    .filter(({ places }) => places.length > 0);
}

/** Apart from the others: the side bar has it at its foot. Everyone has settings of their own. */
export function settingsPlace(): Place {
  return { to: "/app/settings", text: t.nav.settings, Icon: Settings, right: "account:read", key: "a" };
}
