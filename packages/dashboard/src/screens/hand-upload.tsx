/** Upload by hand: what is chosen by drag and drop or by the pickers, where it goes, and how far it is. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { FileUp, FolderUp, Upload } from "lucide-react";
import { type DragEvent, type FormEvent, useRef, useState } from "react";
import { fieldErrors } from "../api/field-errors.ts";
import {
  type ChosenFile,
  cancelUpload,
  forgetLeftUpload,
  type HandUpload,
  handUpload,
  isOpen,
  isUnderway,
  leftUpload,
  resumeUpload,
  startUpload,
} from "../api/hand-upload.ts";
import { meQuery, vaultsQuery } from "../api/queries.ts";
import { collator, size } from "../format.ts";
import { useObservable } from "../observable.ts";
import { ActError, actMessage, ConfirmDialog, DialogButtons } from "../parts/act-dialogs.tsx";
import { Button, ButtonLink } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { droppedFiles, pickedFiles } from "../parts/dropped-files.ts";
import { Field, FormError } from "../parts/field.tsx";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";

const bytesOf = (files: readonly ChosenFile[]): number => files.reduce((sum, { file }) => sum + file.size, 0);

export function UploadDialog({ onClose }: { readonly onClose: () => void }) {
  const { data: me } = useQuery(meQuery);
  const { data: vaults = [] } = useQuery(vaultsQuery);
  const [files, setFiles] = useState<readonly ChosenFile[]>([]);
  const [source, setSource] = useState(t.upload.sourceDefault(me?.full_name ?? ""));
  const [vaultId, setVaultId] = useState<string | null>(null);
  const [missing, setMissing] = useState<string | null>(null);
  const chosenVault = vaultId ?? vaults.find(({ kind }) => kind === "default")?.id ?? vaults[0]?.id ?? "";
  const work = useMutation({
    // Before the list of vaults has come none is named: the service takes the default one, which the list would show.
    mutationFn: () => startUpload({ source, ...(chosenVault !== "" && { vault_id: chosenVault }) }, files),
    onSuccess: onClose,
  });
  const errors = fieldErrors(work.error);
  const add = (more: readonly ChosenFile[]) => {
    setMissing(null);
    // The same path once: the later one counts.
    setFiles((before) => [...new Map([...before, ...more].map((one) => [one.path, one])).values()]);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setMissing(files.length === 0 ? t.upload.none : null);
    if (files.length > 0) work.mutate();
  };
  return (
    <Dialog title={t.upload.title} className="dialog-connect" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <p className="lead">{t.upload.lead}</p>
        <LeftNote />
        <FormError text={missing ?? (errors.size === 0 ? actMessage(work.error) : null)} />
        <Field label={t.upload.vault} error={errors.get("/vault_id")}>
          {(ids) => (
            <select {...ids} className="input" value={chosenVault} onChange={(event) => setVaultId(event.target.value)}>
              {vaults
                .toSorted((one, other) => collator.compare(one.name, other.name))
                .map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
            </select>
          )}
        </Field>
        <TextField
          label={t.upload.source}
          hint={t.upload.sourceHint}
          error={errors.get("/source")}
          required
          maxLength={200}
          value={source}
          onText={setSource}
        />
        <DropPlace onFiles={add} onUnread={() => setMissing(t.upload.unread)} />
        {files.length > 0 && <Chosen files={files} onClear={() => setFiles([])} />}
        <DialogButtons onCancel={onClose} submit={t.upload.start} busy={work.isPending} />
      </form>
    </Dialog>
  );
}

interface DropPlaceProps {
  readonly onFiles: (files: readonly ChosenFile[]) => void;
  readonly onUnread: () => void;
}

function DropPlace({ onFiles, onUnread }: DropPlaceProps) {
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    droppedFiles(event.dataTransfer).then(onFiles, onUnread);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop; the buttons inside do the same with the keyboard
    <div
      className={isOver ? "drop-place drop-over" : "drop-place"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Upload size={22} aria-hidden="true" />
      <strong>{t.upload.drop}</strong>
      <span>{t.upload.dropOr}</span>
      <div className="drop-buttons">
        <Picker onFiles={onFiles} />
        <Picker isFolder onFiles={onFiles} />
      </div>
    </div>
  );
}

interface PickerProps {
  readonly isFolder?: boolean;
  readonly onFiles: (files: readonly ChosenFile[]) => void;
}

function Picker({ isFolder = false, onFiles }: PickerProps) {
  const input = useRef<HTMLInputElement>(null);
  const text = isFolder ? t.upload.pickFolder : t.upload.pickFiles;
  return (
    <>
      <Button
        size="small"
        icon={isFolder ? <FolderUp size={15} aria-hidden="true" /> : <FileUp size={15} aria-hidden="true" />}
        onClick={() => input.current?.click()}
      >
        {text}
      </Button>
      <input
        ref={(element) => {
          input.current = element;
          // Not an attribute that the library of types knows.
          if (isFolder) element?.setAttribute("webkitdirectory", "");
        }}
        type="file"
        multiple
        hidden
        aria-label={text}
        onChange={(event) => {
          onFiles(pickedFiles(event.target.files));
          event.target.value = "";
        }}
      />
    </>
  );
}

/** As many are named; the rest is counted. */
const maxNamed = 50;

function Chosen({ files, onClear }: { readonly files: readonly ChosenFile[]; readonly onClear: () => void }) {
  return (
    <div className="chosen-files">
      <div className="field-label">
        <strong role="status">{t.upload.chosen(files.length, size(bytesOf(files)))}</strong>
        <button type="button" className="text-button" onClick={onClear}>
          {t.upload.clear}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls, also with the keyboard */}
      <section className="scroll-box vault-list" tabIndex={0} aria-label={t.upload.chosen(files.length, "")}>
        <ul>
          {files.slice(0, maxNamed).map(({ path, file }) => (
            <li key={path}>
              <ShownName name={path} /> <span className="count">{size(file.size)}</span>
            </li>
          ))}
          {files.length > maxNamed && <li className="count">{t.upload.more(files.length - maxNamed)}</li>}
        </ul>
      </section>
    </div>
  );
}

const shown: Readonly<Record<HandUpload["status"], Status>> = {
  ...{ sending: "running", waiting: "late", paused: "failed", completing: "running" },
  ...{ completed: "ok", canceled: "none" },
} as const;

/** An upload that the page lost when it was loaded again: the same files take it up. */
function LeftNote() {
  const [left, setLeft] = useState(leftUpload);
  const { data: isStillOpen } = useQuery({
    queryKey: ["snapshots", "left", left?.id],
    enabled: left !== null,
    queryFn: () => isOpen(left?.id ?? ""),
  });
  if (left === null || isStillOpen !== true) return null;
  return (
    <p className="notice" role="status">
      <span>{t.upload.left(left.files, size(left.bytes))}</span>
      <button
        type="button"
        className="text-button"
        onClick={() => {
          forgetLeftUpload();
          setLeft(null);
        }}
      >
        {t.upload.forget}
      </button>
    </p>
  );
}

/** The upload of this browser; nothing where there is none. */
export function UploadCard() {
  const upload = useObservable(handUpload);
  const [isAsked, setAsked] = useState(false);
  const cancel = useMutation({ mutationFn: cancelUpload, onSuccess: () => setAsked(false) });
  if (upload === null) return <LeftNote />;
  const { status, files, filesSent, bytes, bytesSent } = upload;
  const isRunning = isUnderway(upload);
  return (
    <section className="card upload-card" aria-label={t.upload.title}>
      <Glyph status={shown[status]} size={22} />
      <div>
        <strong role="status">{t.upload[status]}</strong>
        <span>{t.upload.progress(filesSent, files, size(bytesSent), size(bytes))}</span>
        {isRunning && (
          <progress className="bar" max={Math.max(1, bytes)} value={bytesSent} aria-label={t.upload.sending} />
        )}
        {isRunning && <span>{t.upload.stay}</span>}
        {status === "paused" && <ActError error={upload.error} />}
      </div>
      <span className="row-actions">
        {status === "paused" && (
          <Button size="small" look="primary" onClick={resumeUpload}>
            {t.upload.resume}
          </Button>
        )}
        {status === "completed" && (
          <ButtonLink size="small" look="primary" to="/app/snapshots/$id" params={{ id: upload.snapshotId }}>
            {t.upload.show}
          </ButtonLink>
        )}
        {isRunning ? (
          <Button size="small" look="danger" onClick={() => setAsked(true)}>
            {t.upload.cancel}
          </Button>
        ) : (
          <Button size="small" onClick={() => handUpload.set(null)}>
            {t.upload.dismiss}
          </Button>
        )}
      </span>
      {isAsked && isRunning && (
        <ConfirmDialog
          title={t.upload.cancelAsk}
          detail={t.upload.cancelDetail}
          confirm={t.upload.cancel}
          isDanger
          work={cancel}
          onClose={() => setAsked(false)}
        />
      )}
    </section>
  );
}
