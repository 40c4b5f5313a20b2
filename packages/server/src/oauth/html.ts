/**
 * The HTML of the OAuth pages: plain forms that work without scripts. A page loads only the style sheet. All values that
 * are not our own texts are escaped.
 */

import type { OauthScope } from "../kernel/principal.ts";
import type { Language } from "../kernel/problems.ts";
import { escapeHtml, failureHtml, frame, hidden, scopeTexts, type TextKey, textIn } from "../pages/index.ts";
import { isReading } from "./ports.ts";

export interface SignInView {
  readonly action: string;
  readonly csrf: string;
  readonly clientName: string;
  /** The error of the last attempt. */
  readonly failure: TextKey | null;
  /** The typed values, so that the person does not type them again. Never the password. */
  readonly email: string;
  /** The challenge of the SMS code, after one was requested. */
  readonly challengeId: string | null;
}

export function signInHtml(language: Language, view: SignInView): string {
  const text = textIn(language);
  return frame(
    language,
    "signInTitle",
    `${failureHtml(language, view.failure)}
${view.challengeId === null ? "" : `<p role="status">${text("smsMaybeSent")} <a href="${escapeHtml(view.action)}">${text("appInstead")}</a></p>`}
<p>${text("signInLead")} <strong>${escapeHtml(view.clientName)}</strong></p>
<form method="post" action="${escapeHtml(view.action)}">
${hidden("csrf", view.csrf)}
<label>${text("email")}<input name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(view.email)}"></label>
<label>${text("password")}<input name="password" type="password" autocomplete="current-password" maxlength="1024" required></label>
${view.challengeId === null ? "" : `${hidden("otp_challenge_id", view.challengeId)}\n`}<label>${text(view.challengeId === null ? "code" : "smsCode")}<input name="totp_code" inputmode="text" autocomplete="one-time-code" maxlength="11" required></label>
<button type="submit" name="act" value="sign_in">${text("signIn")}</button>
<button type="submit" name="act" value="send_code" class="second" formnovalidate>${text(view.challengeId === null ? "smsInstead" : "smsAgain")}</button>
<button type="submit" name="act" value="deny" class="second" formnovalidate>${text("cancel")}</button>
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
  const text = textIn(language);
  const place = text(view.place.kind === "device" ? "placeOfDevice" : "placeOfReturn");
  return frame(
    language,
    "consentTitle",
    `<dl>
<dt>${text("client")}</dt><dd><strong>${escapeHtml(view.clientName)}</strong>${view.isOwnClient ? ` (${text("ownClient")})` : ""}</dd>
<dt>${text("account")}</dt><dd>${escapeHtml(view.accountName)}</dd>
<dt>${place}</dt><dd><code>${escapeHtml(view.place.text)}</code></dd>
</dl>
${view.scopes.length === 0 ? "" : `<p>${text("wants")}</p>\n${scopeList(language, view.scopes)}`}
${view.isOwnClient && isReading({ kind: "agent", scopes: view.scopes }) ? `<p>${text("readingEnds")}</p>` : ""}
${view.refused.length === 0 ? "" : `<p>${text("beyondRole")}</p>\n${scopeList(language, view.refused)}`}
<p>${text(view.scopes.length === 0 ? "nothingToAllow" : "onlyIfYou")}</p>
<form method="post" action="${escapeHtml(view.action)}">
${hidden("csrf", view.csrf)}
${view.scopes.length === 0 ? "" : `<button type="submit" name="act" value="approve">${text("approve")}</button>`}
<button type="submit" name="act" value="deny" class="second">${text("deny")}</button>
</form>`,
  );
}

export interface CodeEntryView {
  readonly csrf: string;
  readonly failure: TextKey | null;
  /** The user code from the URL, so that the person can compare it. */
  readonly code: string;
}

export function codeEntryHtml(language: Language, view: CodeEntryView): string {
  const text = textIn(language);
  return frame(
    language,
    "codeTitle",
    `${failureHtml(language, view.failure)}
<p>${text("codeLead")}</p>
<form method="post" action="/oauth2/device">
${hidden("xsrf", view.csrf)}
<label>${text("userCode")}<input name="user_code" class="code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required value="${escapeHtml(view.code)}"></label>
<button type="submit">${text("next")}</button>
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
  const text = textIn(language);
  return frame(
    language,
    "confirmTitle",
    `<p>${text("confirmLead")}</p>
<p class="code"><code>${escapeHtml(view.code)}</code></p>
<dl>
<dt>${text("client")}</dt><dd><strong>${escapeHtml(view.clientName)}</strong></dd>
<dt>${text("placeOfDevice")}</dt><dd><code>${escapeHtml(view.address)}</code></dd>
</dl>
<p>${text("wants")}</p>
${scopeList(language, view.scopes)}
<p>${text("onlyIfYou")}</p>
<form method="post" action="/oauth2/device">
${hidden("xsrf", view.csrf)}
${hidden("user_code", view.code)}
<button type="submit" name="confirm" value="yes">${text("next")}</button>
<button type="submit" name="abort" value="yes" class="second">${text("deny")}</button>
</form>`,
  );
}

function scopeList(language: Language, scopes: readonly OauthScope[]): string {
  const items = scopes.map(
    (scope) => `<li>${escapeHtml(scopeTexts[scope][language])} <code class="small">${escapeHtml(scope)}</code></li>`,
  );
  return `<ul>\n${items.join("\n")}\n</ul>`;
}
