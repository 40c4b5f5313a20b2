/** The staff's screen: applications, accounts, limits, bans, jobs, audit trail. Every change asks for a reason. */

import { useSearch } from "@tanstack/react-router";
import { Ban, Building2, Gauge, Inbox, ListChecks, ScrollText, Users } from "lucide-react";
import { useRights } from "../api/rights.ts";
import { SectionNav } from "../parts/section-nav.tsx";
import { NoPermission } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { f } from "../strings/staff.ts";
import { StaffAccounts } from "./staff-accounts.tsx";
import { StaffApplications } from "./staff-applications.tsx";
import { StaffBans, StaffJobs, StaffRecords, StaffRequests } from "./staff-lists.tsx";
import { StaffMembers } from "./staff-members.tsx";

const sections = [
  { id: "applications", text: f.applications, Icon: Inbox, Content: StaffApplications },
  { id: "accounts", text: f.accounts, Icon: Building2, Content: StaffAccounts },
  { id: "members", text: f.members, Icon: Users, Content: StaffMembers },
  { id: "requests", text: f.requests, Icon: Gauge, Content: StaffRequests },
  { id: "bans", text: f.bans, Icon: Ban, Content: StaffBans },
  { id: "jobs", text: f.jobs, Icon: ListChecks, Content: StaffJobs },
  { id: "audit", text: f.audit, Icon: ScrollText, Content: StaffRecords },
] as const;

export function Staff() {
  const { tab = "applications" } = useSearch({ from: "/app/staff" });
  const { may } = useRights();
  const { id: chosen, text, Content } = sections.find(({ id }) => id === tab) ?? sections[0];
  return (
    <Screen title={f.title} aside={text}>
      {may("admin") ? (
        <div className="staff">
          <SectionNav to="/app/staff" label={f.sections} className="staff-nav" sections={sections} />
          <Content key={chosen} />
        </div>
      ) : (
        <NoPermission roles={["staff"]} />
      )}
    </Screen>
  );
}
