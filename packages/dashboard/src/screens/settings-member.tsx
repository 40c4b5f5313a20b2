/** The dialogs about a member: invite, change the role, remove, decide a reset. */

import type { Member } from "@emanet/client/source";
import { type FormEvent, useId, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { useRights } from "../api/rights.ts";
import { actMessage, ConfirmDialog, DialogButtons } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormError } from "../parts/field.tsx";
import { visibleName } from "../parts/shown-name.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";

const roles = ["owner", "manager", "operator", "viewer", "auditor"] as const;
type Role = (typeof roles)[number];

interface MemberProps {
  readonly member: Member;
  readonly onClose: () => void;
}

export function Invite({ onClose }: { readonly onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("operator");
  const work = useAct(
    (_: undefined, options) => client.members.invite({ body: { email, full_name: name, role } }, options),
    { changes: ["members"], onDone: onClose },
  );
  const errors = fieldErrors(work.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate(undefined);
  };
  return (
    <Dialog title={s.team.invite} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <p className="lead">{s.team.inviteDetail}</p>
        <FormError text={errors.size === 0 ? actMessage(work.error) : null} />
        <TextField
          label={s.team.name}
          error={errors.get("/full_name")}
          required
          maxLength={200}
          value={name}
          onText={setName}
        />
        <TextField
          label={s.team.email}
          error={errors.get("/email")}
          type="email"
          required
          maxLength={254}
          value={email}
          onText={setEmail}
        />
        <RoleChoice value={role} onValue={setRole} />
        <DialogButtons onCancel={onClose} submit={s.team.inviteSend} busy={work.isPending} />
      </form>
    </Dialog>
  );
}

export function ChangeRole({ member, onClose }: MemberProps) {
  const [role, setRole] = useState<Role>(roles.find((one) => one === member.role) ?? "viewer");
  const work = useAct(
    (_: undefined, options) => client.members.update({ id: member.id, body: { role } }, unkeyed(options)),
    { changes: ["members", "me"], onDone: onClose },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate(undefined);
  };
  return (
    <Dialog title={s.team.changeTitle(visibleName(member.full_name))} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <p className="lead">{s.team.changeDetail}</p>
        <FormError text={actMessage(work.error)} />
        <RoleChoice value={role} onValue={setRole} />
        <DialogButtons onCancel={onClose} submit={t.save} busy={work.isPending} />
      </form>
    </Dialog>
  );
}

interface RoleChoiceProps {
  readonly value: Role;
  readonly onValue: (value: Role) => void;
}

/** Only owners make owners. */
function RoleChoice({ value, onValue }: RoleChoiceProps) {
  const name = useId();
  const { role: mine } = useRights();
  return (
    <fieldset className="choices">
      <legend>{s.team.role}</legend>
      {roles.map((role) => (
        <label key={role} className="choice">
          <input
            type="radio"
            name={name}
            checked={role === value}
            disabled={role === "owner" && mine !== "owner"}
            onChange={() => onValue(role)}
          />
          <span>
            <strong>{t.roles[role]}</strong>
            <span>{s.team.roleDetails[role]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

export function RemoveMember({ member, onClose }: MemberProps) {
  const work = useAct((_: undefined, options) => client.members.remove({ id: member.id }, unkeyed(options)), {
    changes: ["members"],
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      title={s.team.removeAsk(visibleName(member.full_name))}
      detail={s.team.removeDetail}
      confirm={s.team.remove}
      isDanger
      work={{ ...work, mutate: () => work.mutate(undefined) }}
      onClose={onClose}
    />
  );
}

export function DecideReset({ member, onClose }: MemberProps) {
  const work = useAct(
    (decision: "confirm" | "cancel", options) =>
      client.members.decideSecondFactorReset({ id: member.id, body: { decision } }, options),
    { changes: ["members"], onDone: onClose },
  );
  return (
    <Dialog title={s.team.resetTitle(visibleName(member.full_name))} className="dialog-narrow" onClose={onClose}>
      <div className="dialog-body">
        <p>{s.team.resetDetail}</p>
        <FormError text={actMessage(work.error)} />
        <div className="dialog-actions">
          <Button look="danger" busy={work.isPending} onClick={() => work.mutate("confirm")}>
            {s.team.resetConfirm}
          </Button>
          <Button look="primary" busy={work.isPending} onClick={() => work.mutate("cancel")}>
            {s.team.resetCancel}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
