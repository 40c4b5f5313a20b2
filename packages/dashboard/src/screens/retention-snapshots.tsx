/** The backups of a vault with what keeps each: holds and locks, which owners set. */

import type { Snapshot } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Lock, Pause } from "lucide-react";
import { type FormEvent, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { vaultSnapshotsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { addDays, day, dayAndTime, today } from "../format.ts";
import { actMessage, ConfirmDialog, DialogButtons } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormError } from "../parts/field.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";
import { r } from "../strings/retention.ts";
import { useOwnersOnly } from "./settings-package.tsx";

type Opened = { readonly kind: "hold" | "release" | "lock"; readonly snapshot: Snapshot };

export function KeptSnapshots({ vaultId }: { readonly vaultId: string }) {
  const snapshots = useQuery(vaultSnapshotsQuery(vaultId));
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  return (
    <section className="card" aria-labelledby="kept-title">
      <header className="card-header">
        <h2 id="kept-title">{r.snapshots}</h2>
      </header>
      <p className="settings-note">{r.snapshotsDetail}</p>
      <QueryView query={snapshots} lines={5}>
        {(list) => {
          const done = list.filter(({ status }) => status === "completed");
          if (done.length === 0) return <p className="card-empty">{r.noSnapshots}</p>;
          return (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
            <ul className="rows kept-rows" tabIndex={0} aria-labelledby="kept-title">
              {done.map((snapshot) => (
                <Item key={snapshot.id} snapshot={snapshot} onOpen={setOpened} />
              ))}
            </ul>
          );
        }}
      </QueryView>
      {opened?.kind === "hold" && <HoldDialog snapshot={opened.snapshot} onClose={close} />}
      {opened?.kind === "release" && <ReleaseDialog snapshot={opened.snapshot} onClose={close} />}
      {opened?.kind === "lock" && <LockDialog snapshot={opened.snapshot} onClose={close} />}
    </section>
  );
}

interface ItemProps {
  readonly snapshot: Snapshot;
  readonly onOpen: (opened: Opened) => void;
}

function Item({ snapshot, onOpen }: ItemProps) {
  const { role } = useRights();
  const whyRelease = useOwnersOnly();
  // What keeps a backup can also be set in a suspended account.
  const whyKeep = role === "owner" ? undefined : t.states.noPermission(t.roles.owner ?? "");
  const at = dayAndTime(snapshot.completed_at ?? snapshot.created_at);
  const isHeld = snapshot.retention.legal_hold;
  const act = (kind: Opened["kind"], text: string) => (
    <Button
      size="small"
      aria-label={`${at}: ${text}`}
      unavailable={kind === "release" ? whyRelease : whyKeep}
      onClick={() => onOpen({ kind, snapshot })}
    >
      {text}
    </Button>
  );
  return (
    <li className="row member-row">
      <div>
        <Link to="/app/snapshots/$id" params={{ id: snapshot.id }} className="row-link">
          <strong>{at}</strong>
        </Link>
        <span>
          <ShownName name={snapshot.source.name} />
        </span>
        <Keeps snapshot={snapshot} />
      </div>
      <span className="row-actions">
        {isHeld ? act("release", r.release) : act("hold", r.hold)}
        {act("lock", r.lock)}
      </span>
    </li>
  );
}

/** Why it stays, and until when. */
function Keeps({ snapshot: { retention } }: { readonly snapshot: Snapshot }) {
  const { hold, locked_until: until, expires_at: expires } = retention;
  return (
    <>
      {hold !== null && (
        <span className="keeps">
          <Pause size={13} aria-hidden="true" />
          <span>
            <ShownName name={r.held(hold.reason)} />
            {hold.review_at !== null && `, ${r.review(day(hold.review_at))}`}
          </span>
        </span>
      )}
      {until !== null && (
        <span className="keeps">
          <Lock size={13} aria-hidden="true" /> {r.locked(day(until))}
        </span>
      )}
      {expires !== null && <span>{r.expires(day(expires))}</span>}
    </>
  );
}

interface ActProps {
  readonly snapshot: Snapshot;
  readonly onClose: () => void;
}

const changes = ["snapshots", "retention", "pending-acts"];
/** Noon in Istanbul: the day is the same everywhere near. */
const noon = (dayText: string) => new Date(`${dayText}T12:00:00+03:00`).toISOString();

function HoldDialog({ snapshot, onClose }: ActProps) {
  const [reason, setReason] = useState("");
  const [review, setReview] = useState("");
  const work = useAct(
    (_: undefined, options) => {
      const body = { reason, ...(review !== "" && { review_at: noon(review) }) };
      return client.snapshots.setHold({ id: snapshot.id, body }, unkeyed(options));
    },
    { changes, onDone: onClose },
  );
  const errors = fieldErrors(work.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate(undefined);
  };
  return (
    <Dialog title={r.holdTitle} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <p className="lead">{r.holdDetail}</p>
        <FormError text={errors.size === 0 ? actMessage(work.error) : null} />
        <TextField
          label={r.holdReason}
          error={errors.get("/reason")}
          required
          maxLength={500}
          value={reason}
          onText={setReason}
        />
        <TextField
          label={r.holdReview}
          error={errors.get("/review_at")}
          type="date"
          min={addDays(today(), 1)}
          value={review}
          onText={setReview}
        />
        <DialogButtons onCancel={onClose} submit={r.hold} busy={work.isPending} />
      </form>
    </Dialog>
  );
}

function ReleaseDialog({ snapshot, onClose }: ActProps) {
  const work = useAct((_: undefined, options) => client.snapshots.releaseHold({ id: snapshot.id }, unkeyed(options)), {
    changes,
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      title={r.releaseAsk}
      detail={r.releaseDetail}
      confirm={r.release}
      isDanger
      work={{ ...work, mutate: () => work.mutate(undefined) }}
      onClose={onClose}
    />
  );
}

/** A little less than the service's 11 years. */
const longestLockDays = 4010;

function LockDialog({ snapshot, onClose }: ActProps) {
  const [until, setUntil] = useState("");
  const work = useAct(
    (_: undefined, options) =>
      client.snapshots.lock({ id: snapshot.id, body: { locked_until: noon(until) } }, unkeyed(options)),
    { changes, onDone: onClose },
  );
  const errors = fieldErrors(work.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate(undefined);
  };
  return (
    <Dialog title={r.lockTitle} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <p className="lead">{r.lockDetail}</p>
        <FormError text={errors.size === 0 ? actMessage(work.error) : null} />
        <TextField
          label={r.lockUntil}
          error={errors.get("/locked_until")}
          type="date"
          required
          min={addDays(today(), 1)}
          max={addDays(today(), longestLockDays)}
          value={until}
          onText={setUntil}
        />
        <DialogButtons onCancel={onClose} submit={r.lock} busy={work.isPending} />
      </form>
    </Dialog>
  );
}
