/** The page of the application as a reply, with its security policy. */

import { Problem } from "../kernel/problems.ts";
import { builtDashboard } from "./built-files.ts";

/** Nothing inline, nothing from other origins, no frames, and no text that becomes code. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const headers = {
  "content-security-policy": policy,
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
} as const;

export const pageOperation = {
  method: "GET",
  tag: "docs",
  access: { kind: "public" },
  // The address of a screen has its filters as parameters, which only the application reads.
  wire: "pages",
  replies: { 200: { description: "The page.", content: ["text/html"] } },
} as const;

/** 503 where nothing is built. */
export function dashboardPage() {
  const built = builtDashboard();
  if (built === null) throw new Problem("unavailable");
  const { contentType, body } = built.page;
  return { status: 200, headers: { ...headers, "content-type": contentType }, body } as const;
}
