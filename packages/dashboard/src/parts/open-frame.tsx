/** What stands above and below the screens that need no session. */

import { Link } from "@tanstack/react-router";
import { t } from "../strings/index.ts";
import { Brand, LanguageButton } from "./brand.tsx";

export function OpenTop() {
  return (
    <header className="sign-in-top">
      <Brand />
      <LanguageButton />
    </header>
  );
}

export function OpenFoot() {
  return (
    <footer className="sign-in-foot">
      <nav aria-label={t.nav.help}>
        <a href="/docs">{t.nav.docs}</a>
        <Link to="/app/shared-audit">{t.signIn.auditor}</Link>
        <a href="/docs/guides/sign-in">{t.signIn.support}</a>
      </nav>
      <span>{t.signIn.rights}</span>
    </footer>
  );
}
