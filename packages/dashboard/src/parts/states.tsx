/** The states that every screen has besides its content: loading, error, waiting, no permission, nothing there. */

import { ConnectionError, isProblem } from "@emanet/client/source";
import type { UseQueryResult } from "@tanstack/react-query";
import { Check, Copy, LockKeyhole, TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { count } from "../format.ts";
import { now } from "../platform.ts";
import { t } from "../strings/index.ts";
import { Button } from "./button.tsx";
import { visibleName } from "./shown-name.tsx";

/** Skeletons of the final size. The style shows them after 150 ms: shorter waits need none. */
export function Skeleton({ lines = 3, height }: { readonly lines?: number; readonly height?: number }) {
  return (
    <div className="skeleton" role="status" style={height === undefined ? undefined : { minHeight: height }}>
      <span className="sr-only">{t.loading}</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike and never move
        <span key={line} className="skeleton-line" />
      ))}
    </div>
  );
}

interface QueryViewProps<T> {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
  /** Lines of the skeleton. */
  readonly lines?: number;
  readonly height?: number;
}

/** Old data stays while new data comes or fails; a part that fails keeps its place. */
export function QueryView<T>({ query, children, lines = 3, height }: QueryViewProps<T>) {
  const { data, error, isPending } = query;
  if (data !== undefined)
    return (
      <>
        {error !== null && <ErrorCard error={error} retry={() => void query.refetch()} isSmall />}
        {children(data)}
      </>
    );
  if (isPending) return <Skeleton lines={lines} {...(height !== undefined && { height })} />;
  return <ErrorCard error={error} retry={() => void query.refetch()} />;
}

interface ErrorCardProps {
  readonly error: unknown;
  readonly retry?: () => void;
  readonly isSmall?: boolean;
}

export function ErrorCard({ error, retry, isSmall = false }: ErrorCardProps) {
  const seconds = useCountdown(error, retry);
  const { title, detail, requestId } = errorText(error);
  const isWaiting = seconds > 0;
  return (
    <div className={isSmall ? "error-card error-card-small" : "error-card"} role="alert">
      <TriangleAlert aria-hidden="true" size={18} />
      <div className="error-text">
        <strong>{isWaiting ? t.states.waiting(seconds) : title}</strong>
        {!isWaiting && detail !== null && <p>{detail}</p>}
        {requestId !== null && <SupportCode id={requestId} />}
      </div>
      {retry !== undefined && !isWaiting && (
        <Button size="small" onClick={retry}>
          {t.retry}
        </Button>
      )}
    </div>
  );
}

export function errorText(error: unknown): {
  readonly title: string;
  readonly detail: string | null;
  readonly requestId: string | null;
} {
  if (isProblem(error)) {
    const { title, detail } = error.problem;
    // An answer that something between the page and the service made may have no number.
    const id: string | undefined = error.problem.request_id;
    return {
      title: visibleName(title),
      detail: visibleName(detail),
      requestId: id === undefined ? null : visibleName(id),
    };
  }
  if (error instanceof ConnectionError)
    return { title: t.states.noAnswer, detail: t.states.noAnswerDetail, requestId: null };
  return { title: t.states.noAnswer, detail: null, requestId: null };
}

/** Seconds until the service answers again; at the end the request is repeated. */
function useCountdown(error: unknown, retry: (() => void) | undefined): number {
  const [left, setLeft] = useState(0);
  // A new function at every render; only another error starts the count again.
  const repeat = useRef(retry);
  repeat.current = retry;
  useEffect(() => {
    const seconds = retryAfter(error);
    setLeft(seconds);
    if (seconds === 0) return undefined;
    const until = now() + seconds * 1000;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((until - now()) / 1000));
      setLeft(rest);
      if (rest > 0) return;
      clearInterval(timer);
      repeat.current?.();
    }, 1000);
    return () => clearInterval(timer);
  }, [error]);
  return left;
}

function retryAfter(error: unknown): number {
  if (!isProblem(error)) return 0;
  const seconds = Number(error.headers.get("retry-after") ?? 0);
  return error.status === 429 && Number.isFinite(seconds) ? Math.ceil(seconds) : 0;
}

function SupportCode({ id }: { readonly id: string }) {
  return (
    <p className="support-code">
      {t.states.supportCode} <code>{id}</code> <CopyButton text={id} />
    </p>
  );
}

export function CopyButton({ text, label = t.copy }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
  };
  return (
    <button type="button" className="icon-button" onClick={() => void copy()} aria-label={isDone ? t.copied : label}>
      {isDone ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
    </button>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly detail?: string;
  readonly icon?: ReactNode;
  readonly children?: ReactNode;
}

export function Empty({ title, detail, icon, children }: EmptyProps) {
  return (
    <div className="empty">
      {icon}
      <h2>{title}</h2>
      {detail !== undefined && <p>{detail}</p>}
      {children !== undefined && <div className="empty-actions">{children}</div>}
    </div>
  );
}

export function NoPermission({ roles }: { readonly roles: readonly string[] }) {
  const names = roles.map((role) => t.roles[role] ?? role).join(", ");
  return (
    <Empty
      icon={<LockKeyhole size={28} aria-hidden="true" />}
      title={t.states.noPermissionPage}
      detail={t.states.noPermissionDetail(names)}
    />
  );
}

/** A count beside a title. */
export function Count({ of }: { readonly of: number }) {
  return <span className="count">{count(of)}</span>;
}
