/** The team: who may do what, invitations, and resets of second factors that an owner decides. */

import type { Member } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { meQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { membersQuery, waitingResetsQuery } from "../api/settings-queries.ts";
import { initials, lower, recently } from "../format.ts";
import { ActError } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";
import { ChangeRole, DecideReset, Invite, RemoveMember } from "./settings-member.tsx";

type Opened = { readonly kind: "change" | "remove" | "reset"; readonly member: Member } | { readonly kind: "invite" };

export function TeamSettings() {
  const { whyNot } = useRights();
  const members = useQuery(membersQuery);
  const [opened, setOpened] = useState<Opened | null>(null);
  const [note, setNote] = useState("");
  const close = () => setOpened(null);
  return (
    <>
      <QueryView query={members} lines={6}>
        {(list) => (
          <section className="card" aria-labelledby="team-title">
            <header className="card-header">
              <h2 id="team-title">{s.team.answer(list.filter(({ state }) => state === "active").length)}</h2>
              <Button
                look="primary"
                icon={<UserPlus size={15} aria-hidden="true" />}
                unavailable={whyNot("account:write")}
                onClick={() => setOpened({ kind: "invite" })}
              >
                {s.team.invite}
              </Button>
            </header>
            <p className="settings-note" role="status">
              {note !== "" ? note : <Invited list={list} />}
            </p>
            <ul className="rows">
              {list.map((member) => (
                <Item key={member.id} member={member} all={list} onOpen={setOpened} onNote={setNote} />
              ))}
            </ul>
          </section>
        )}
      </QueryView>
      {opened?.kind === "invite" && <Invite onClose={close} />}
      {opened?.kind === "change" && <ChangeRole member={opened.member} onClose={close} />}
      {opened?.kind === "remove" && <RemoveMember member={opened.member} onClose={close} />}
      {opened?.kind === "reset" && <DecideReset member={opened.member} onClose={close} />}
    </>
  );
}

function Invited({ list }: { readonly list: readonly Member[] }) {
  const waiting = list.filter(({ state }) => state === "invited").length;
  return waiting === 0 ? null : s.team.answerInvited(waiting);
}

interface ItemProps {
  readonly member: Member;
  readonly all: readonly Member[];
  readonly onOpen: (opened: Opened) => void;
  readonly onNote: (text: string) => void;
}

function Item({ member, all, onOpen, onNote }: ItemProps) {
  const { data: me } = useQuery(meQuery);
  const why = useWhyNot(member, all);
  const isInvited = member.state === "invited";
  const resend = useAct((_: undefined, options) => client.members.resendInvitation({ id: member.id }, options), {
    changes: ["members"],
    onDone: () => onNote(s.team.resent(member.email)),
  });
  const named = (text: string) => ({ "aria-label": `${visibleName(member.full_name)}: ${text}` });
  return (
    <li className="row member-row">
      <span className="avatar" aria-hidden="true">
        {initials(member.full_name)}
      </span>
      <div>
        <strong>
          <ShownName name={member.full_name} /> {me?.id === member.id && <span className="tag">{s.team.you}</span>}
        </strong>
        <span>
          <ShownName name={member.email} />
        </span>
        <Reset member={member} onOpen={onOpen} />
        <ActError error={resend.error} />
      </div>
      <span className={isInvited ? "tag tag-late" : "tag"}>
        {t.roles[member.role] ?? member.role}
        {isInvited && `, ${lower(s.team.invited)}`}
      </span>
      <span className="row-actions">
        {isInvited && (
          <Button
            size="small"
            {...named(s.team.resend)}
            unavailable={why.write}
            busy={resend.isPending}
            onClick={() => resend.mutate(undefined)}
          >
            {s.team.resend}
          </Button>
        )}
        <Button
          size="small"
          {...named(s.team.change)}
          unavailable={why.write}
          onClick={() => onOpen({ kind: "change", member })}
        >
          {s.team.change}
        </Button>
        <Button
          size="small"
          look="danger"
          {...named(s.team.remove)}
          unavailable={why.remove}
          onClick={() => onOpen({ kind: "remove", member })}
        >
          {s.team.remove}
        </Button>
      </span>
    </li>
  );
}

/** A reset that staff were asked for, and that only owners decide. */
function Reset({ member, onOpen }: Pick<ItemProps, "member" | "onOpen">) {
  const { may, role } = useRights();
  const { data } = useQuery({ ...waitingResetsQuery, enabled: may("audit:read") });
  const reset = data?.find(({ personId }) => personId === member.id);
  if (reset === undefined) return null;
  return (
    <span className="settings-warning">
      {s.team.resetWaits(lower(recently(reset.askedAt)))}{" "}
      <Button
        size="small"
        unavailable={role === "owner" ? undefined : t.states.noPermission(t.roles.owner ?? "")}
        onClick={() => onOpen({ kind: "reset", member })}
      >
        {s.team.resetDecide}
      </Button>
    </span>
  );
}

/** Why a member cannot be changed or removed by this person. A suspended account can still remove people. */
function useWhyNot(member: Member, all: readonly Member[]) {
  const { role, may, whyNot } = useRights();
  const owners = all.filter((one) => one.role === "owner" && one.state === "active");
  const isLastOwner = member.role === "owner" && member.state === "active" && owners.length === 1;
  const ofOwner = member.role === "owner" && role !== "owner" ? t.states.noPermission(t.roles.owner ?? "") : undefined;
  const either = ofOwner ?? (isLastOwner && may("account:write") ? s.team.lastOwner : undefined);
  return {
    write: either ?? whyNot("account:write"),
    remove: either ?? (may("account:write") ? undefined : whyNot("account:write")),
  };
}
