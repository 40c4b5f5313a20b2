/** Keys: `/` goes to the filter of a screen, J and K move in a list. Not while a person types. */

import { type RefObject, useEffect, useRef } from "react";
import { observable } from "../observable.ts";

/** Whether the search over everything is open. */
export const searchIsOpen = observable(false);

/** Whether a key belongs to what has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

export function useSlashKey(): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return input;
}

/** J and K move in a list; not while a dialog is open. */
export function useListKeys(length: number, place: number, onPlace: (place: number) => void): void {
  const move = useRef(onPlace);
  move.current = onPlace;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const step = { j: 1, k: -1 }[event.key] ?? 0;
      if (step === 0 || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      move.current(Math.min(Math.max(place + step, 0), length - 1));
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [length, place]);
}
