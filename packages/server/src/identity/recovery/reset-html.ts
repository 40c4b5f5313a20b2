/** The HTML of the pages of a forgotten password. */

import type { Language } from "../../kernel/problems.ts";
import {
  escapeHtml,
  type FormError,
  failureHtml,
  fieldFailure,
  fieldHtml,
  frame,
  hidden,
  textIn,
} from "../../pages/index.ts";
import { maxPasswordLength } from "../factors/index.ts";

export function newPasswordHtml(language: Language, email: string, csrf: string, formError: FormError | null): string {
  const text = textIn(language);
  const password = fieldHtml(language, {
    name: "new_password",
    label: "newPassword",
    attributes: `type="password" autocomplete="new-password" maxlength="${maxPasswordLength}" required`,
    failure: fieldFailure(formError, "/new_password", language, { too_short: "passwordShort" }),
  });
  return frame(
    language,
    "resetTitle",
    `<dl><dt>${text("enrolEmail")}</dt><dd>${escapeHtml(email)}</dd></dl>
<form method="post" action="/reset-password/new">
${hidden("csrf", csrf)}
<input type="hidden" name="username" autocomplete="username" value="${escapeHtml(email)}">
${password}
<button type="submit">${text("setPassword")}</button>
</form>`,
  );
}

export function askHtml(language: Language, formError: FormError | null): string {
  const text = textIn(language);
  const email = fieldHtml(language, {
    name: "email",
    label: "email",
    attributes: 'type="email" autocomplete="username" maxlength="254" required',
    failure: fieldFailure(formError, "/email", language, { any: "emailWrong" }),
  });
  return frame(
    language,
    "askTitle",
    `${failureHtml(language, formError?.status === 429 ? "tooManyAttempts" : null)}
<p>${text("askLead")}</p>
<form method="post" action="/reset-password/request">
${email}
<button type="submit">${text("askButton")}</button>
</form>`,
  );
}
