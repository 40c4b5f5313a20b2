/** The HTML of the pages of an enrolment. */

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
  type Word,
} from "../../pages/index.ts";
import { maskedPhone, maxPasswordLength } from "../factors/index.ts";
import type { EnrolmentView } from "./enrolment-steps.ts";

const digits = 'inputmode="numeric" autocomplete="one-time-code" maxlength="6" required';

/** What every page of an enrolment is made from. */
export interface StepView {
  readonly enrolment: EnrolmentView;
  readonly csrf: string;
  readonly mend: Mend | null;
}

export function phoneHtml(language: Language, { enrolment, csrf, mend }: StepView): string {
  const say = sayIn(language);
  const known = maskedPhone(enrolment.person.phone);
  const shown = known === null ? "" : `<dl><dt>${say("phoneKnown")}</dt><dd>${escapeHtml(known)}</dd></dl>\n`;
  const number = fieldHtml(language, {
    name: "phone",
    label: known === null ? "phoneNew" : "phoneOther",
    attributes: `type="tel" autocomplete="tel" maxlength="24"${known === null ? " required" : ""}`,
    failure: fieldFailure(mend, "/phone", language, { any: "phoneWrong" }),
  });
  const skip = enrolment.phoneRequired ? "" : `\n<p><a href="/enrol/setup">${say("skipPhone")}</a></p>`;
  return frame(
    language,
    "phoneTitle",
    `${failureHtml(language, mend?.code === "rate_limited" ? "smsWait" : null)}
<p>${say("phoneLead")}</p>
${shown}<form method="post" action="/enrol/phone">
${hidden("csrf", csrf)}
${number}
<button type="submit">${say("sendSms")}</button>
</form>${skip}`,
  );
}

export function setupHtml(language: Language, { enrolment, csrf, mend }: StepView, challengeId: string | null): string {
  const say = sayIn(language);
  const { person, purpose, totp } = enrolment;
  const wrongPassword: Word | null = mend?.code === "invalid_credentials" ? "ownPasswordWrong" : null;
  const tooMany: Word | null = mend?.status === 429 ? "tooManyAttempts" : null;
  const sms =
    challengeId === null
      ? ""
      : `${hidden("phone_challenge_id", challengeId)}
${fieldHtml(language, { name: "phone_code", label: "smsCode", attributes: digits, failure: fieldFailure(mend, "/phone_code", language, { any: "smsCodeWrong" }) })}
<p><a href="/enrol/phone">${say("smsAgain")}</a></p>
`;
  return frame(
    language,
    "enrolTitle",
    `${failureHtml(language, wrongPassword ?? tooMany)}
<dl>
<dt>${say("enrolName")}</dt><dd>${escapeHtml(person.full_name)}</dd>
<dt>${say("enrolEmail")}</dt><dd>${escapeHtml(person.email)}</dd>
</dl>
<form method="post" action="/enrol/setup">
${hidden("csrf", csrf)}
<input type="hidden" name="username" autocomplete="username" value="${escapeHtml(person.email)}">
${passwordHtml(language, purpose, mend)}
<p>${say("scanLead")}</p>
<img class="qr" alt="${say("qrPicture")}" src="data:image/png;base64,${totp.qr_png}">
<dl><dt>${say("secretKey")}</dt><dd><code class="secret">${escapeHtml(grouped(totp.totp_secret))}</code></dd></dl>
${fieldHtml(language, { name: "totp_code", label: "appCode", attributes: digits, failure: fieldFailure(mend, "/totp_code", language, { any: "appCodeWrong" }) })}
${sms}<button type="submit">${say("finish")}</button>
</form>`,
  );
}

function passwordHtml(language: Language, purpose: EnrolmentView["purpose"], mend: Mend | null): string {
  const isNew = purpose === "enrolment";
  return fieldHtml(language, {
    name: "password",
    label: isNew ? "newPassword" : "ownPassword",
    attributes: `type="password" autocomplete="${isNew ? "new" : "current"}-password" maxlength="${maxPasswordLength}" required`,
    failure: fieldFailure(mend, "/password", language, { too_short: "passwordShort" }),
  });
}

/** In fours, which people can type without losing their place. */
function grouped(secret: string): string {
  return (secret.match(/.{1,4}/g) ?? []).join(" ");
}

/** The codes, this once. They can be saved without a script: the link is the file. */
export function codesHtml(language: Language, codes: readonly string[]): string {
  const say = sayIn(language);
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`Emanet\r\n\r\n${codes.join("\r\n")}\r\n`)}`;
  return frame(
    language,
    "codesTitle",
    `<p>${say("codesLead")}</p>
<ul class="codes">
${codes.map((code) => `<li><code>${escapeHtml(code)}</code></li>`).join("\n")}
</ul>
<p class="screen"><a href="${escapeHtml(file)}" download="emanet.txt">${say("saveCodes")}</a></p>
<p class="screen small">${say("printCodes")}</p>
<p class="screen"><a href="/enrol/sign-in">${say("toFirstSignIn")}</a></p>`,
  );
}

export function firstSignInHtml(language: Language, email: string, mend: Mend | null): string {
  const say = sayIn(language);
  const failure: Word | null =
    mend === null ? null : mend.status === 429 ? "tooManyAttempts" : ("wrongCredentials" as const);
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
<p>${say("firstLead")}</p>
<form method="post" action="/enrol/sign-in">
${fields.map((field) => fieldHtml(language, field)).join("\n")}
<button type="submit">${say("signIn")}</button>
</form>`,
  );
}
