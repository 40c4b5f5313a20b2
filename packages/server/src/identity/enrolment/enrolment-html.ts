/** The HTML of the pages of an enrolment. */

import type { Language } from "../../kernel/problems.ts";
import {
  escapeHtml,
  type FormError,
  failureHtml,
  fieldFailure,
  fieldHtml,
  frame,
  hidden,
  type TextKey,
  textIn,
} from "../../pages/index.ts";
import { maskedPhone, maxPasswordLength } from "../factors/index.ts";
import type { EnrolmentView } from "./enrolment-steps.ts";

const digits = 'inputmode="numeric" autocomplete="one-time-code" maxlength="6" required';

/** What every page of an enrolment is made from. */
export interface StepView {
  readonly enrolment: EnrolmentView;
  readonly csrf: string;
  readonly formError: FormError | null;
}

export function phoneHtml(language: Language, { enrolment, csrf, formError }: StepView): string {
  const text = textIn(language);
  const known = maskedPhone(enrolment.person.phone);
  const shown = known === null ? "" : `<dl><dt>${text("phoneKnown")}</dt><dd>${escapeHtml(known)}</dd></dl>\n`;
  const number = fieldHtml(language, {
    name: "phone",
    label: known === null ? "phoneNew" : "phoneOther",
    attributes: `type="tel" autocomplete="tel" maxlength="24"${known === null ? " required" : ""}`,
    failure: fieldFailure(formError, "/phone", language, { any: "phoneWrong" }),
  });
  const skip = enrolment.phoneRequired ? "" : `\n<p><a href="/enrol/setup">${text("skipPhone")}</a></p>`;
  return frame(
    language,
    "phoneTitle",
    `${failureHtml(language, formError?.code === "rate_limited" ? "smsWait" : null)}
<p>${text("phoneLead")}</p>
${shown}<form method="post" action="/enrol/phone">
${hidden("csrf", csrf)}
${number}
<button type="submit">${text("sendSms")}</button>
</form>${skip}`,
  );
}

export function setupHtml(
  language: Language,
  { enrolment, csrf, formError }: StepView,
  challengeId: string | null,
): string {
  const text = textIn(language);
  const { person, purpose, totp } = enrolment;
  const wrongPassword: TextKey | null = formError?.code === "invalid_credentials" ? "ownPasswordWrong" : null;
  const tooMany: TextKey | null = formError?.status === 429 ? "tooManyAttempts" : null;
  const sms =
    challengeId === null
      ? ""
      : `${hidden("phone_challenge_id", challengeId)}
${fieldHtml(language, { name: "phone_code", label: "smsCode", attributes: digits, failure: fieldFailure(formError, "/phone_code", language, { any: "smsCodeWrong" }) })}
<p><a href="/enrol/phone">${text("smsAgain")}</a></p>
`;
  return frame(
    language,
    "enrolTitle",
    `${failureHtml(language, wrongPassword ?? tooMany)}
<dl>
<dt>${text("enrolName")}</dt><dd>${escapeHtml(person.full_name)}</dd>
<dt>${text("enrolEmail")}</dt><dd>${escapeHtml(person.email)}</dd>
</dl>
<form method="post" action="/enrol/setup">
${hidden("csrf", csrf)}
<input type="hidden" name="username" autocomplete="username" value="${escapeHtml(person.email)}">
${passwordHtml(language, purpose, formError)}
<p>${text("scanLead")}</p>
<img class="qr" alt="${text("qrPicture")}" src="data:image/png;base64,${totp.qr_png}">
<dl><dt>${text("secretKey")}</dt><dd><code class="secret">${escapeHtml(grouped(totp.totp_secret))}</code></dd></dl>
${fieldHtml(language, { name: "totp_code", label: "appCode", attributes: digits, failure: fieldFailure(formError, "/totp_code", language, { any: "appCodeWrong" }) })}
${sms}<button type="submit">${text("finish")}</button>
</form>`,
  );
}

function passwordHtml(language: Language, purpose: EnrolmentView["purpose"], formError: FormError | null): string {
  const isNew = purpose === "enrolment";
  return fieldHtml(language, {
    name: "password",
    label: isNew ? "newPassword" : "ownPassword",
    attributes: `type="password" autocomplete="${isNew ? "new" : "current"}-password" maxlength="${maxPasswordLength}" required`,
    failure: fieldFailure(formError, "/password", language, { too_short: "passwordShort" }),
  });
}

/** In fours, which people can type without losing their place. */
function grouped(secret: string): string {
  return (secret.match(/.{1,4}/g) ?? []).join(" ");
}

/** The codes, this once. They can be saved without a script: the link is the file. */
export function codesHtml(language: Language, codes: readonly string[]): string {
  const text = textIn(language);
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`Emanet\r\n\r\n${codes.join("\r\n")}\r\n`)}`;
  return frame(
    language,
    "codesTitle",
    `<p>${text("codesLead")}</p>
<ul class="codes">
${codes.map((code) => `<li><code>${escapeHtml(code)}</code></li>`).join("\n")}
</ul>
<p class="screen"><a href="${escapeHtml(file)}" download="emanet.txt">${text("saveCodes")}</a></p>
<p class="screen small">${text("printCodes")}</p>
<p class="screen"><a href="/enrol/sign-in">${text("toFirstSignIn")}</a></p>`,
  );
}

export function firstSignInHtml(language: Language, email: string, formError: FormError | null): string {
  const text = textIn(language);
  const failure: TextKey | null =
    formError === null ? null : formError.status === 429 ? "tooManyAttempts" : ("wrongCredentials" as const);
  const fields = [
    {
      name: "email",
      label: "email",
      value: email,
      attributes: 'type="email" autocomplete="username" maxlength="254" required',
    },
    {
      name: "password",
      label: "password",
      attributes: `type="password" autocomplete="current-password" maxlength="${maxPasswordLength}" required`,
    },
    { name: "totp_code", label: "code", attributes: 'autocomplete="one-time-code" maxlength="11" required' },
  ] as const;
  return frame(
    language,
    "firstTitle",
    `${failureHtml(language, failure)}
<p>${text("firstLead")}</p>
<form method="post" action="/enrol/sign-in">
${fields.map((field) => fieldHtml(language, field)).join("\n")}
<button type="submit">${text("signIn")}</button>
</form>`,
  );
}
