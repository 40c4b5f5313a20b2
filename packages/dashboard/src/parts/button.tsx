/** Buttons and links that look like them. A screen has one primary button; danger is a quiet red label until it is confirmed. */

import { createLink } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ReactNode, Ref } from "react";

type Look = "primary" | "plain" | "quiet" | "danger" | "danger-primary";

interface Looks {
  readonly look?: Look;
  readonly size?: "normal" | "small" | "large";
  readonly icon?: ReactNode;
}

type ButtonProps = Looks &
  ButtonHTMLAttributes<HTMLButtonElement> & {
    /** Why it cannot be used; shown to everyone, also without a pointer. */
    readonly unavailable?: string | undefined;
    readonly busy?: boolean;
    readonly ref?: Ref<HTMLButtonElement>;
  };

const classOf = ({ look = "plain", size = "normal" }: Looks, more = "") =>
  `button button-${look} button-${size} ${more}`;

export function Button({ look, size, icon, unavailable, busy, children, className, ...rest }: ButtonProps) {
  const shown = { ...(look && { look }), ...(size && { size }) };
  const isOff = unavailable !== undefined;
  return (
    <button
      type="button"
      {...rest}
      className={classOf(shown, className)}
      aria-disabled={isOff || busy || undefined}
      aria-busy={busy || undefined}
      title={unavailable ?? rest.title}
      onClick={isOff || busy ? stop : rest.onClick}
    >
      {icon}
      {children}
      {isOff && <span className="sr-only">. {unavailable}</span>}
    </button>
  );
}

/** It stays in the tab order, so that its reason can be read. */
function stop(event: { preventDefault(): void }): void {
  event.preventDefault();
}

type LinkProps = Looks & AnchorHTMLAttributes<HTMLAnchorElement> & { readonly ref?: Ref<HTMLAnchorElement> };

function Anchor({ look, size, icon, children, className, ...rest }: LinkProps) {
  const shown = { ...(look && { look }), ...(size && { size }) };
  return (
    <a {...rest} className={classOf(shown, className)}>
      {icon}
      {children}
    </a>
  );
}

/** A link of the application that looks like a button. */
export const ButtonLink = createLink(Anchor);
