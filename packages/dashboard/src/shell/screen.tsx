/** A screen: its title, what stands beside it, its actions, its content. The title is also that of the document. */

import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";

interface ScreenProps {
  readonly title: string;
  readonly heading?: ReactNode;
  readonly aside?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** Without space around the content. */
  readonly isFull?: boolean;
}

/** Where the last screen was. On the first one the browser begins with the skip link. */
let lastPath: string | null = null;
let hasMoved = false;

/** On a new screen the next Tab goes to its content, and readers say its title. A dialog gives the focus back by itself. */
function useFocusOnArrival() {
  const main = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  useEffect(() => {
    const isNew = lastPath !== null && lastPath !== path;
    lastPath = path;
    hasMoved ||= isNew;
    // A screen that took the place of its skeleton took the focus away with it.
    const isLost = hasMoved && document.activeElement === document.body;
    if ((isNew || isLost) && document.querySelector("dialog[open]") === null)
      main.current?.focus({ preventScroll: true });
  }, [path]);
  return main;
}

export function Screen({ title, heading, aside, actions, children, isFull = false }: ScreenProps) {
  const main = useFocusOnArrival();
  useEffect(() => {
    document.title = `${title} · Emanet`;
  }, [title]);
  return (
    <main ref={main} id="content" tabIndex={-1} className="screen" aria-label={title}>
      <div className="top-bar">
        <div className="top-title">
          {heading ?? <h1>{title}</h1>}
          {aside !== undefined && <span className="top-aside">{aside}</span>}
        </div>
        {actions !== undefined && <div className="top-actions">{actions}</div>}
      </div>
      <div className={isFull ? "content content-full" : "content"}>{children}</div>
    </main>
  );
}
