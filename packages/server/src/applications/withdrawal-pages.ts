/** Shared by the pages of a withdrawal: their place in the API document and the texts of their errors. */

import { explaining, type LinkPage } from "../pages/index.ts";

const page = { tag: "applications", access: { kind: "public" }, wire: "pages" } as const;

export const confirmPage = {
  ...page,
  path: "/withdraw/confirm",
  limits: ["login_ip"],
  cookies: ["__Host-link"],
} as const;

export const explainLink = explaining({ not_found: "withdrawOver", state_conflict: "withdrawDecided" });

/** Where the link in the mail leads. */
export const withdrawalLinkPage: LinkPage = {
  path: "/withdraw",
  next: "/withdraw/confirm",
  title: "withdrawTitle",
  tag: "applications",
  noun: "withdrawal",
  about: "withdrawal of an application",
};
