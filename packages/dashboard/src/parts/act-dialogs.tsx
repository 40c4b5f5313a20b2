/** What an act needs besides its form: the buttons below it, the question before it, the secret after it. */

import type { ReactNode } from "react";
import { NotConfirmed } from "../api/step-up.ts";
import { t } from "../strings/index.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { FormError } from "./field.tsx";
import { CopyButton, ErrorCard, errorText } from "./states.tsx";

/** What went wrong with an act. Null where nothing did, and where the person gave it up. */
export function actMessage(error: unknown): string | null {
  return error === null || error instanceof NotConfirmed ? null : errorText(error).title;
}

/** The same as a card, for acts without a form. */
export function ActError({ error }: { readonly error: unknown }) {
  return error === null || error instanceof NotConfirmed ? null : <ErrorCard error={error} isSmall />;
}

interface DialogButtonsProps {
  readonly onCancel: () => void;
  /** What the button that submits the form says. */
  readonly submit: string;
  readonly busy: boolean;
}

/** The buttons at the end of a form in a dialog. */
export function DialogButtons({ onCancel, submit, busy }: DialogButtonsProps) {
  return (
    <div className="dialog-actions">
      <Button onClick={onCancel}>{t.cancel}</Button>
      <Button look="primary" type="submit" busy={busy}>
        {submit}
      </Button>
    </div>
  );
}

/** A mutation, as far as a dialog needs it. */
interface Work {
  readonly error: unknown;
  readonly isPending: boolean;
  readonly mutate: () => void;
}

interface ConfirmProps {
  readonly title: string;
  readonly detail?: string | undefined;
  readonly confirm: string;
  readonly isDanger?: boolean;
  readonly work: Work;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** Asks before an act. */
export function ConfirmDialog({ title, detail, confirm, isDanger = false, work, onClose, children }: ConfirmProps) {
  return (
    <Dialog title={title} className="dialog-narrow" onClose={onClose}>
      <div className="dialog-body">
        {detail !== undefined && <p>{detail}</p>}
        {children}
        <FormError text={actMessage(work.error)} />
        <div className="dialog-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button look={isDanger ? "danger-primary" : "primary"} busy={work.isPending} onClick={() => work.mutate()}>
            {confirm}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

interface SecretProps {
  readonly title: string;
  readonly detail: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** What belongs to it and is no secret. */
  readonly children?: ReactNode;
}

/** A secret that is shown once. */
export function SecretDialog({ title, detail, secret, onClose, children }: SecretProps) {
  return (
    <Dialog title={title} className="dialog-narrow" onClose={onClose}>
      <div className="dialog-body">
        <p>{detail}</p>
        {children}
        <Copyable text={secret} />
        <div className="dialog-actions">
          <Button look="primary" onClick={onClose}>
            {t.close}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** A text to take elsewhere, with its button. */
export function Copyable({ text, label }: { readonly text: string; readonly label?: string }) {
  return (
    <p className="secret">
      <code>{text}</code> <CopyButton text={text} {...(label !== undefined && { label })} />
    </p>
  );
}
