/** The mark and the name, and the link to the page in the other language. */

import { Languages } from "lucide-react";
import markAddress from "../mark.svg";
import { remember } from "../platform.ts";
import { t } from "../strings/index.ts";

export function Brand() {
  return (
    <span className="brand">
      <img src={markAddress} alt="" width="26" height="26" />
      emanet
    </span>
  );
}

/** The page is loaded again: it has one language. */
export function switchLanguage(): void {
  remember("language", t.otherLanguageCode);
  location.reload();
}

export function LanguageButton() {
  return (
    <button type="button" className="language-button" lang={t.otherLanguageCode} onClick={switchLanguage}>
      <Languages size={14} aria-hidden="true" />
      {t.otherLanguage}
    </button>
  );
}
