/** Keys: which of them are the page's, `/` for the filter of a screen, J and K in a list. Not while a person types. */

import { type RefObject, useEffect, useRef } from "react";
import { observable } from "../observable.ts";
import { remember, remembered } from "../platform.ts";

/** Whether the search over everything is open. */
export const searchIsOpen = observable(false);

/** Whether the list of keys is open. */
export const helpIsOpen = observable(false);

/** Single letters can be switched off, for people whose voice or hand types by itself. */
export const lettersAreOn = observable(remembered("keys") !== "off");

export function setLetters(isOn: boolean): void {
  lettersAreOn.set(isOn);
  remember("keys", isOn ? null : "off");
}

/** Whether a key belongs to what has the focus. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Whether a key is the page's: nothing else uses it, and nothing lies over the page. */
export function isFree(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return false;
  return document.querySelector("dialog[open], :popover-open") === null;
}

/** The same for a single letter. */
export function isFreeLetter(event: KeyboardEvent): boolean {
  return lettersAreOn.get() && isFree(event);
}

export function useSlashKey(): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || !isFreeLetter(event)) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return input;
}

/** Single letters of a screen, each with what it does. */
export function useLetters(acts: Readonly<Record<string, () => void>>): void {
  const current = useRef(acts);
  current.current = acts;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const act = current.current[event.key.toLowerCase()];
      if (act === undefined || !isFreeLetter(event)) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** J and K move in a list that shows the chosen one beside it. */
export function useListKeys(length: number, place: number, onPlace: (place: number) => void): void {
  const move = (step: number) => () => onPlace(Math.min(Math.max(place + step, 0), length - 1));
  useLetters({ j: move(1), k: move(-1) });
}
