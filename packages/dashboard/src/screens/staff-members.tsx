/** People of all accounts, for one act: a person who lost the second factor and all codes gets a new one. */

import type { AdminMember } from "@emanet/client/source";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "../api/client.ts";
import { membersQuery } from "../api/staff-queries.ts";
import { Button } from "../parts/button.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { ReasonDialog } from "../parts/reason-dialog.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { Empty, QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { f } from "../strings/staff.ts";

export function StaffMembers() {
  const members = useInfiniteQuery(membersQuery);
  return (
    <>
      <QueryView query={members} lines={8}>
        {({ pages }) => {
          const list = pages.flatMap(({ data }) => data);
          if (list.length === 0) return <Empty title={f.nothing} />;
          return (
            <ul className="card rows">
              {list.map((member) => (
                <Member key={member.id} member={member} />
              ))}
            </ul>
          );
        }}
      </QueryView>
      <MoreButton query={members} />
    </>
  );
}

function Member({ member }: { readonly member: AdminMember }) {
  const [isAsked, setAsked] = useState(false);
  const { id, full_name: name, email, role, state, account_id: account } = member;
  return (
    <li className="row member-row">
      <div>
        <strong>
          <ShownName name={name} />
        </strong>
        <span>
          <ShownName name={email} />
        </span>
        <code>{account}</code>
      </div>
      <span className="tag">{t.roles[role] ?? role}</span>
      {state === "active" && (
        <Button
          size="small"
          look="danger"
          aria-label={`${visibleName(name)}: ${f.member.reset}`}
          onClick={() => setAsked(true)}
        >
          {f.member.reset}
        </Button>
      )}
      {isAsked && (
        <ReasonDialog
          title={f.member.reset}
          detail={f.member.resetDetail}
          act={(reason, options) => client.admin.resetSecondFactor({ id, body: { reason } }, options)}
          onClose={() => setAsked(false)}
        />
      )}
    </li>
  );
}
