/** Keys: `/` goes to the filter of a screen. Not while a person types. */

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
