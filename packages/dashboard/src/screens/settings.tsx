/** Settings: the person, the security of the sign-in, the team, the package, usage and limits. */

import { useSearch } from "@tanstack/react-router";
import { Gauge, Package, ShieldCheck, User, Users } from "lucide-react";
import { useEffect } from "react";
import { queries } from "../api/client.ts";
import { useRights } from "../api/rights.ts";
import { vaultUsageQuery } from "../api/settings-queries.ts";
import { SectionNav } from "../parts/section-nav.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";
import { PackageSettings } from "./settings-package.tsx";
import { ProfileSettings } from "./settings-profile.tsx";
import { SecuritySettings } from "./settings-security.tsx";
import { TeamSettings } from "./settings-team.tsx";
import { UsageSettings } from "./settings-usage.tsx";

const sections = [
  { id: "profile", text: s.profile.title, Icon: User, Content: ProfileSettings, isOwn: true },
  { id: "security", text: s.security.title, Icon: ShieldCheck, Content: SecuritySettings, isOwn: true },
  { id: "team", text: s.team.title, Icon: Users, Content: TeamSettings, isOwn: false },
  { id: "package", text: s.account.title, Icon: Package, Content: PackageSettings, isOwn: false },
  { id: "usage", text: s.usage.title, Icon: Gauge, Content: UsageSettings, isOwn: false },
] as const;

export function Settings() {
  const { tab = "profile" } = useSearch({ from: "/app/settings" });
  const { may } = useRights();
  const mayReadUsage = may("snapshots:read");
  // Usage is read page by page: of an office with hundreds of vaults it is there when its tab is opened.
  useEffect(() => {
    if (mayReadUsage) void queries.prefetchQuery(vaultUsageQuery);
  }, [mayReadUsage]);
  // Staff have no account: only what is their own.
  const mine = sections.filter(({ isOwn }) => isOwn || may("account:read"));
  const { text, Content } = mine.find(({ id }) => id === tab) ?? sections[0];
  return (
    <Screen title={t.nav.settings} aside={text}>
      <div className="settings">
        <SectionNav to="/app/settings" label={s.sections} className="settings-nav" sections={mine} />
        <div className="settings-body">
          <Content />
        </div>
      </div>
    </Screen>
  );
}
