/** The library's answers to browsers as pages of ours, and where their forms may lead. */

import { type PageReply, pageReply, redirectReply } from "../pages/index.ts";
import type { LibraryAnswer } from "./call-library.ts";

/** The library's answer to a browser: one of our pages, or a redirect, whose body is dropped. */
export function pageOf(answer: LibraryAnswer): PageReply {
  const { location } = answer.headers;
  if (location !== undefined) return redirectReply(location, answer.cookies);
  return pageReply(answer.status, answer.body, { cookies: answer.cookies });
}

/** A redirect URI as a source of a security policy: its origin, or the scheme that a program registered. */
export function formTargetOf(redirectUri: unknown): string {
  if (typeof redirectUri !== "string" || !URL.canParse(redirectUri)) return "";
  const { protocol, origin } = new URL(redirectUri);
  const target = protocol === "https:" || protocol === "http:" ? origin : protocol;
  // Nothing that could end the directive and begin another.
  return /^[\w.:/[\]+-]+$/.test(target) ? target : "";
}
