/** Shared by the pages of the password reset: their place in the API document and the texts of their errors. */

import { explaining, type LinkPage } from "../../pages/index.ts";

const page = { tag: "auth", access: { kind: "public" }, wire: "pages" } as const;

/** Where a person asks for a link. */
export const requestPage = { ...page, path: "/reset-password/request" } as const;
export const sentPage = { ...page, path: "/reset-password/sent" } as const;

/** Where the link in the mail leads. */
export const resetLinkPage: LinkPage = {
  path: "/reset-password",
  next: "/reset-password/new",
  title: "resetTitle",
  tag: "auth",
  noun: "password_reset",
  about: "new password",
};

/** Where the new password is typed. */
export const formPage = {
  ...page,
  path: "/reset-password/new",
  limits: ["login_ip"],
  cookies: ["__Host-link"],
  errors: ["not_found", "origin_not_allowed"],
} as const;
export const donePage = { ...page, path: "/reset-password/done" } as const;

/** For the pages that need a link: a link that is over leads to the page that mails another. */
export const explainLink = explaining(
  { not_found: "resetOver" },
  { not_found: { href: "/reset-password/request", textKey: "askButton" } },
);
