/**
 * Who may do what, as docs/ROLES.md has it. It only decides what is shown: the service checks every request itself.
 */

import { useQuery } from "@tanstack/react-query";
import { t } from "../strings/index.ts";
import { accountQuery, meQuery } from "./queries.ts";

export type Right =
  | "snapshots:read"
  | "snapshots:write"
  | "restores:read"
  | "restores:write"
  | "audit:read"
  | "webhooks:read"
  | "webhooks:write"
  | "account:read"
  | "account:write"
  | "taxpayers:read"
  | "taxpayers:write"
  | "admin";

const everyone = ["owner", "manager", "operator", "viewer", "auditor"];
const readers = ["owner", "manager", "operator", "viewer"];
const workers = ["owner", "manager", "operator"];
const heads = ["owner", "manager"];

const rolesOf: Readonly<Record<Right, readonly string[]>> = {
  "snapshots:read": readers,
  "snapshots:write": workers,
  "restores:read": readers,
  "restores:write": workers,
  "audit:read": [...heads, "auditor"],
  "webhooks:read": heads,
  "webhooks:write": heads,
  "account:read": everyone,
  "account:write": heads,
  "taxpayers:read": readers,
  "taxpayers:write": workers,
  admin: ["staff"],
};

export function rolesWith(right: Right): readonly string[] {
  return rolesOf[right];
}

export interface Rights {
  readonly role: string;
  /** A suspended account reads and restores, and writes nothing. */
  readonly isSuspended: boolean;
  readonly may: (right: Right) => boolean;
  /** Why a button cannot be used; undefined when it can. */
  readonly whyNot: (right: Right) => string | undefined;
}

export function useRights(): Rights {
  const { data: me } = useQuery(meQuery);
  const isMember = me !== undefined && me.role !== "staff";
  const { data: account } = useQuery({ ...accountQuery, enabled: isMember });
  const role = me?.role ?? "";
  const isSuspended = account !== undefined && account.state !== "active";
  const may = (right: Right) => rolesOf[right].includes(role);
  return {
    role,
    isSuspended,
    may,
    whyNot(right) {
      const [least = ""] = rolesOf[right].slice(-1);
      if (!may(right)) return t.states.noPermission(t.roles[least] ?? least);
      return isSuspended && right.endsWith(":write") && right !== "restores:write"
        ? t.states.suspendedAction
        : undefined;
    },
  };
}
