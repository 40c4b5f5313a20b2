/** A screen: its title, what stands beside it, its actions, its content. The title is also that of the document. */

import { type ReactNode, useEffect } from "react";

interface ScreenProps {
  readonly title: string;
  readonly heading?: ReactNode;
  readonly aside?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** Without space around the content. */
  readonly isFull?: boolean;
}

export function Screen({ title, heading, aside, actions, children, isFull = false }: ScreenProps) {
  useEffect(() => {
    document.title = `${title} · Emanet`;
  }, [title]);
  return (
    <main id="content" tabIndex={-1} className="screen">
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
