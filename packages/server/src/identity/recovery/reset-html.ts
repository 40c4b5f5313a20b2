/** The HTML of the pages of a forgotten password. */

import type { Language } from "../../kernel/problems.ts";
import {
  escapeHtml,
  failureHtml,
  fieldFailure,
  fieldHtml,
  frame,
  hidden,
  type Mend,
  sayIn,
} from "../../pages/index.ts";
import { maxPasswordLength } from "../factors/index.ts";

export function newPasswordHtml(language: Language, email: string, csrf: string, mend: Mend | null): string {
  const say = sayIn(language);
  const password = fieldHtml(language, {
    name: "new_password",
    label: "newPassword",
    attributes: `type="password" autocomplete="new-password" maxlength="${maxPasswordLength}" required`,
    failure: fieldFailure(mend, "/new_password", language, { too_short: "passwordShort" }),
  });
  return frame(
    language,
    "resetTitle",
    `<dl><dt>${say("enrolEmail")}</dt><dd>${escapeHtml(email)}</dd></dl>
<form method="post" action="/reset-password/new">
${hidden("csrf", csrf)}
<input type="hidden" name="username" autocomplete="username" value="${escapeHtml(email)}">
${password}
<button type="submit">${say("setPassword")}</button>
</form>`,
  );
}

export function askHtml(language: Language, mend: Mend | null): string {
  const say = sayIn(language);
  const email = fieldHtml(language, {
    name: "email",
    label: "email",
    attributes: 'type="email" autocomplete="username" maxlength="254" required',
    failure: fieldFailure(mend, "/email", language, { any: "emailWrong" }),
  });
  return frame(
    language,
    "askTitle",
    `${failureHtml(language, mend?.status === 429 ? "tooManyAttempts" : null)}
<p>${say("askLead")}</p>
<form method="post" action="/reset-password/request">
${email}
<button type="submit">${say("askButton")}</button>
</form>`,
  );
}
