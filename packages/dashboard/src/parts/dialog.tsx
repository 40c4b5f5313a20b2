/** A dialog on `<dialog>`: the browser keeps the focus inside, closes on Esc and gives the focus back to its opener. */

import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { t } from "../strings/index.ts";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly className?: string;
  /** The title is read but not shown: the content has its own. */
  readonly hidesTitle?: boolean;
  /** Without a button to close and without Esc. */
  readonly mustAnswer?: boolean;
}

export function Dialog({ title, onClose, children, className = "", hidesTitle, mustAnswer }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // What opened it may be gone with the row that it removed.
      const place = opener instanceof HTMLElement && opener.isConnected && opener !== document.body;
      const back = place ? opener : document.querySelector<HTMLElement>("main");
      back?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={`dialog ${className}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (!mustAnswer) onClose();
      }}
    >
      <header className={hidesTitle ? "sr-only" : "dialog-header"}>
        <h2 id={titleId}>{title}</h2>
        {!mustAnswer && !hidesTitle && (
          <button type="button" className="icon-button" aria-label={t.close} onClick={onClose}>
            <X size={18} aria-hidden="true" />
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
}
