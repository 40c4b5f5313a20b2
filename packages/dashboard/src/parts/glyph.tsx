/** Our own status shapes: shape first, then word, then colour. Each stands beside its word, so it is hidden from readers. */

import type { ReactNode } from "react";

export type Status = "ok" | "unchanged" | "failed" | "late" | "running" | "none";

const shapes: Readonly<Record<Status, ReactNode>> = {
  ok: (
    <>
      <circle cx="8" cy="8" r="7.2" fill="var(--ok-mark)" />
      <path
        d="m4.9 8.2 2.1 2.1 4.1-4.4"
        stroke="var(--on-mark)"
        strokeWidth="1.7"
        fill="none"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  unchanged: (
    <rect
      x="2"
      y="2"
      width="12"
      height="12"
      rx="3"
      fill="var(--ok-soft)"
      stroke="var(--ok-outline)"
      strokeWidth="1.4"
    />
  ),
  failed: (
    <>
      <path d="M5.1.9h5.8l4.2 4.2v5.8l-4.2 4.2H5.1L.9 10.9V5.1z" fill="var(--fail-mark)" />
      <path d="m5.7 5.7 4.6 4.6m0-4.6-4.6 4.6" stroke="var(--on-mark)" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  late: (
    <>
      <circle cx="8" cy="8" r="6.4" fill="none" stroke="var(--late-mark)" strokeWidth="1.7" />
      <path
        d="M8 4.6V8l2.2 1.4"
        stroke="var(--late-mark)"
        strokeWidth="1.6"
        fill="none"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  running: (
    <>
      <circle cx="8" cy="8" r="6.4" fill="none" stroke="var(--line-strong)" strokeWidth="1.7" />
      <path
        d="M8 1.6A6.4 6.4 0 0 1 14.4 8"
        stroke="var(--accent)"
        strokeWidth="1.7"
        fill="none"
        strokeLinecap="round"
      />
    </>
  ),
  none: (
    <rect
      x="2"
      y="2"
      width="12"
      height="12"
      rx="3"
      fill="none"
      stroke="var(--control)"
      strokeWidth="1.3"
      strokeDasharray="2.4 2"
    />
  ),
};

export function Glyph({ status, size = 16 }: { readonly status: Status; readonly size?: number }) {
  return (
    <svg className={`glyph glyph-${status}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      {shapes[status]}
    </svg>
  );
}

/** States of the API that this version does not know are shown as nothing expected, never as good. */
export function statusOf(state: string | undefined): Status {
  return state !== undefined && state in shapes ? (state as Status) : "none";
}
