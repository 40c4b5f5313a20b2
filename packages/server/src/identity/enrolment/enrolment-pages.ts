/** Shared by the pages of the enrolment: their place in the API document and the texts of their errors. */

import { explaining, type LinkPage } from "../../pages/index.ts";

const page = { tag: "enrolment", access: { kind: "public" }, wire: "pages" } as const;
const withLink = { ...page, limits: ["login_ip"], cookies: ["__Host-link"] } as const;

/** Where the link in the mail leads. */
export const enrolmentLinkPage: LinkPage = {
  path: "/enrol",
  next: "/enrol/phone",
  title: "enrolTitle",
  tag: "enrolment",
  noun: "enrolment",
  about: "enrolment",
};

export const phonePage = {
  ...withLink,
  path: "/enrol/phone",
  errors: ["not_found", "origin_not_allowed", "state_conflict"],
} as const;

export const setupPage = { ...withLink, path: "/enrol/setup" } as const;

export const firstSignInPage = { ...page, path: "/enrol/sign-in" } as const;

/** For the pages that need a link. */
export const explainLink = explaining({ not_found: "enrolOver", state_conflict: "addressTaken" });

/** The id of a challenge as a form or an address carries it; null for anything else. */
export function challengeIdOf(text: string | undefined): string | null {
  return text !== undefined && /^[0-9a-f-]{36}$/.test(text) ? text : null;
}
