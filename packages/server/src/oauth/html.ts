/**
 * The HTML of the OAuth pages: plain forms that work without scripts. A page loads only the style sheet. All values that
 * are not our own texts are escaped.
 */

import type { OauthScope } from "../kernel/principal.ts";
import type { Language } from "../kernel/problems.ts";
import { escapeHtml, failureHtml, frame, hidden, sayIn, scopeWords, type Word } from "../pages/index.ts";

export interface SignInView {
  readonly action: string;
  readonly csrf: string;
  readonly clientName: string;
  /** The error of the last attempt. */
  readonly failure: Word | null;
  /** The typed values, so that the person does not type them again. Never the password. */
  readonly email: string;
  /** The challenge of the SMS code, after one was requested. */
  readonly challengeId: string | null;
}

export function signInHtml(language: Language, view: SignInView): string {
  const say = sayIn(language);
  return frame(
    language,
    "signInTitle",
    `${failureHtml(language, view.failure)}
${view.challengeId === null ? "" : `<p role="status">${say("smsMaybeSent")} <a href="${escapeHtml(view.action)}">${say("appInstead")}</a></p>`}
<p>${say("signInLead")} <strong>${escapeHtml(view.clientName)}</strong></p>
<form method="post" action="${escapeHtml(view.action)}">
${hidden("csrf", view.csrf)}
<label>${say("email")}<input name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(view.email)}"></label>
<label>${say("password")}<input name="password" type="password" autocomplete="current-password" maxlength="1024" required></label>
${view.challengeId === null ? "" : `${hidden("otp_challenge_id", view.challengeId)}\n`}<label>${say(view.challengeId === null ? "code" : "smsCode")}<input name="totp_code" inputmode="text" autocomplete="one-time-code" maxlength="11" required></label>
<button type="submit" name="act" value="sign_in">${say("signIn")}</button>
<button type="submit" name="act" value="send_code" class="second" formnovalidate>${say(view.challengeId === null ? "smsInstead" : "smsAgain")}</button>
<button type="submit" name="act" value="deny" class="second" formnovalidate>${say("cancel")}</button>
</form>`,
  );
}

export interface ConsentView {
  readonly action: string;
  readonly csrf: string;
  readonly clientName: string;
  readonly isOwnClient: boolean;
  readonly accountName: string;
  /** The address of the device, or the redirect URI. */
  readonly place: { readonly kind: "device" | "return"; readonly text: string };
  /** The scopes that the person can grant. */
  readonly scopes: readonly OauthScope[];
  /** The other requested scopes. */
  readonly refused: readonly OauthScope[];
}

export function consentHtml(language: Language, view: ConsentView): string {
  const say = sayIn(language);
  const place = say(view.place.kind === "device" ? "placeOfDevice" : "placeOfReturn");
  return frame(
    language,
    "consentTitle",
    `<dl>
<dt>${say("client")}</dt><dd><strong>${escapeHtml(view.clientName)}</strong>${view.isOwnClient ? ` (${say("ownClient")})` : ""}</dd>
<dt>${say("account")}</dt><dd>${escapeHtml(view.accountName)}</dd>
<dt>${place}</dt><dd><code>${escapeHtml(view.place.text)}</code></dd>
</dl>
${view.scopes.length === 0 ? "" : `<p>${say("wants")}</p>\n${scopeList(language, view.scopes)}`}
${view.refused.length === 0 ? "" : `<p>${say("beyondRole")}</p>\n${scopeList(language, view.refused)}`}
<p>${say(view.scopes.length === 0 ? "nothingToAllow" : "onlyIfYou")}</p>
<form method="post" action="${escapeHtml(view.action)}">
${hidden("csrf", view.csrf)}
${view.scopes.length === 0 ? "" : `<button type="submit" name="act" value="approve">${say("approve")}</button>`}
<button type="submit" name="act" value="deny" class="second">${say("deny")}</button>
</form>`,
  );
}

export interface CodeEntryView {
  readonly csrf: string;
  readonly failure: Word | null;
  /** The user code from the URL, so that the person can compare it. */
  readonly code: string;
}

export function codeEntryHtml(language: Language, view: CodeEntryView): string {
  const say = sayIn(language);
  return frame(
    language,
    "codeTitle",
    `${failureHtml(language, view.failure)}
<p>${say("codeLead")}</p>
<form method="post" action="/oauth2/device">
${hidden("xsrf", view.csrf)}
<label>${say("userCode")}<input name="user_code" class="code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required value="${escapeHtml(view.code)}"></label>
<button type="submit">${say("next")}</button>
</form>`,
  );
}

export interface DeviceConfirmView {
  readonly csrf: string;
  readonly code: string;
  readonly clientName: string;
  readonly address: string;
  readonly scopes: readonly OauthScope[];
}

export function deviceConfirmHtml(language: Language, view: DeviceConfirmView): string {
  const say = sayIn(language);
  return frame(
    language,
    "confirmTitle",
    `<p>${say("confirmLead")}</p>
<p class="code"><code>${escapeHtml(view.code)}</code></p>
<dl>
<dt>${say("client")}</dt><dd><strong>${escapeHtml(view.clientName)}</strong></dd>
<dt>${say("placeOfDevice")}</dt><dd><code>${escapeHtml(view.address)}</code></dd>
</dl>
<p>${say("wants")}</p>
${scopeList(language, view.scopes)}
<p>${say("onlyIfYou")}</p>
<form method="post" action="/oauth2/device">
${hidden("xsrf", view.csrf)}
${hidden("user_code", view.code)}
<button type="submit" name="confirm" value="yes">${say("next")}</button>
<button type="submit" name="abort" value="yes" class="second">${say("deny")}</button>
</form>`,
  );
}

function scopeList(language: Language, scopes: readonly OauthScope[]): string {
  const items = scopes.map(
    (scope) => `<li>${escapeHtml(scopeWords[scope][language])} <code class="small">${escapeHtml(scope)}</code></li>`,
  );
  return `<ul>\n${items.join("\n")}\n</ul>`;
}
