/** The person who is signed in, and the menu behind the name: appearance, language, documentation, sign-out. */

import type { Me } from "@emanet/client/source";
import { Link } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { useId } from "react";
import { client, queries } from "../api/client.ts";
import { forgetSession } from "../api/session.ts";
import { initials } from "../format.ts";
import { useObservable } from "../observable.ts";
import { switchLanguage } from "../parts/brand.tsx";
import { Segments } from "../parts/segments.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { t } from "../strings/index.ts";
import { helpIsOpen } from "./keys.ts";
import { setTheme, type Theme, theme } from "./theme.ts";

export function PersonMenu({ me, isSmall = false }: { readonly me: Me; readonly isSmall?: boolean }) {
  const id = useId();
  return (
    <div className={isSmall ? "person person-small" : "person"}>
      <button
        type="button"
        className="person-button"
        popoverTarget={id}
        aria-label={`${t.nav.account}: ${me.full_name}`}
      >
        <span className="avatar" aria-hidden="true">
          {initials(me.full_name)}
        </span>
        {!isSmall && (
          <>
            <span className="person-name">
              <ShownName name={me.full_name} />
              <span>{t.roles[me.role] ?? me.role}</span>
            </span>
            <Ellipsis size={16} aria-hidden="true" />
          </>
        )}
      </button>
      <div id={id} popover="auto" className={isSmall ? "menu menu-top" : "menu"}>
        <p className="menu-who">
          <ShownName name={me.full_name} />
          <ShownName name={me.email} />
        </p>
        <ThemeChoice />
        <Link to="/app/settings" className="menu-item">
          {t.nav.settings}
        </Link>
        <button type="button" className="menu-item" lang={t.otherLanguageCode} onClick={switchLanguage}>
          {t.otherLanguage}
        </button>
        <a className="menu-item" href="/docs">
          {t.nav.docs}
        </a>
        <button type="button" className="menu-item" popoverTarget={id} onClick={() => helpIsOpen.set(true)}>
          {t.nav.keys}
        </button>
        <button type="button" className="menu-item" onClick={() => void signOut()}>
          {t.nav.signOut}
        </button>
      </div>
    </div>
  );
}

function ThemeChoice() {
  const value = useObservable(theme);
  const options = [
    { value: "system", text: t.nav.themeSystem },
    { value: "light", text: t.nav.themeLight },
    { value: "dark", text: t.nav.themeDark },
  ] as const satisfies readonly { value: Theme; text: string }[];
  return <Segments label={t.nav.theme} value={value} options={options} onValue={setTheme} className="segments-small" />;
}

/** The session ends at the service first. Where it cannot be reached the browser forgets it all the same. */
async function signOut(): Promise<void> {
  try {
    await client.auth.logout();
  } finally {
    forgetSession();
    queries.clear();
  }
}
