/**
 * Keys of the whole page: G and a letter goes to a place, J, K and the arrows move in a list, Esc goes to the screen above, `?`
 * shows them all.
 */

import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useRights } from "../api/rights.ts";
import { helpIsOpen, isFree, lettersAreOn } from "./keys.ts";
import { type Place, placesOf, settingsPlace } from "./places.tsx";

/** The letter after G comes at most so much later: long enough for a slow hand, and a G alone is soon forgotten. */
const sequenceMs = 2_000;

/** What J, K and the arrows move between. */
const rows = "main .row-link, main .entry";

export function useShortcuts(): void {
  const navigate = useNavigate();
  const { may } = useRights();
  const go = useRef<(letter: string) => boolean>(() => false);
  go.current = (letter) => {
    const places: readonly Place[] = [...placesOf(may).flatMap((group) => group.places), settingsPlace()];
    const place = places.find(({ key }) => key === letter);
    if (place !== undefined) void navigate({ to: place.to });
    return place !== undefined;
  };
  useEffect(() => {
    let goesAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if (!isFree(event)) return;
      const key = event.key.toLowerCase();
      const isSecond = event.timeStamp - goesAt < sequenceMs;
      goesAt = Number.NEGATIVE_INFINITY;
      if (!lettersAreOn.get() && key.length === 1) return;
      if (isSecond && go.current(key)) event.preventDefault();
      else if (key === "g") goesAt = event.timeStamp;
      else if (isUsed(key)) event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Does what a key says; false where it says nothing here. */
function isUsed(key: string): boolean {
  if (key === "j" || key === "k") return moveBy(key === "j" ? 1 : -1);
  // An arrow scrolls the page, unless a row has the focus.
  if (key === "arrowdown" || key === "arrowup") return isOnRow() && moveBy(key === "arrowdown" ? 1 : -1);
  if (key === "escape") return goBack();
  if (key === "?") helpIsOpen.set(true);
  return key === "?";
}

const isOnRow = (): boolean => document.activeElement?.matches(rows) ?? false;

/** The focus goes to the next row. */
function moveBy(step: number): boolean {
  const all = [...document.querySelectorAll<HTMLElement>(rows)];
  const focused = document.activeElement;
  const at = focused instanceof HTMLElement ? all.indexOf(focused) : -1;
  const next = all[at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step];
  next?.focus();
  return next !== undefined;
}

/** To the screen above this one. */
function goBack(): boolean {
  const above = [...document.querySelectorAll<HTMLElement>("main .crumbs a")].at(-1);
  above?.click();
  return above !== undefined;
}
