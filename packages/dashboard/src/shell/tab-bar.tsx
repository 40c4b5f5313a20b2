/** Under 768 px: brand and person above, the most used places below. */

import type { Account, Me } from "@emanet/client/source";
import { Menu, Search } from "lucide-react";
import { useId, useRef } from "react";
import { useRights } from "../api/rights.ts";
import { fullDay } from "../format.ts";
import markAddress from "../mark.svg";
import { ShownName } from "../parts/shown-name.tsx";
import { now } from "../platform.ts";
import { t } from "../strings/index.ts";
import { searchIsOpen } from "./keys.ts";
import { PersonMenu } from "./person-menu.tsx";
import { placesOf, settingsPlace } from "./places.tsx";
import { PlaceLink } from "./side-bar.tsx";

/** The most used places, as many as fit at 320 px beside the menu with targets of 44 px. */
const tabs: readonly string[] = ["/", "/app/taxpayers", "/app/restores", "/app/audit"];

export function MobileTop({ me, account }: { readonly me: Me; readonly account: Account | undefined }) {
  const { may } = useRights();
  return (
    <header className="mobile-top">
      <img src={markAddress} alt="" width="28" height="28" />
      <div className="mobile-name">
        {account === undefined ? "Emanet" : <ShownName name={account.name} />}
        <span>{fullDay(now())}</span>
      </div>
      {may("snapshots:read") && (
        <button type="button" className="icon-button" aria-label={t.nav.search} onClick={() => searchIsOpen.set(true)}>
          <Search size={20} aria-hidden="true" />
        </button>
      )}
      <PersonMenu me={me} isSmall />
    </header>
  );
}

export function TabBar() {
  const { may } = useRights();
  const places = placesOf(may).flatMap((group) => group.places);
  return (
    <nav className="tab-bar" aria-label={t.nav.label}>
      {places
        .filter(({ to }) => tabs.includes(to))
        .map((place) => (
          <PlaceLink key={place.to} place={{ ...place, text: place.short ?? place.text }} />
        ))}
      <PlaceMenu />
    </nav>
  );
}

/** All places, those without a tab too. */
function PlaceMenu() {
  const { may } = useRights();
  const id = useId();
  const menu = useRef<HTMLUListElement>(null);
  return (
    <>
      <button type="button" className="place" popoverTarget={id}>
        <Menu size={17} aria-hidden="true" />
        <span className="place-text">{t.nav.menu}</span>
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on a link is a click too */}
      <ul ref={menu} id={id} popover="auto" className="menu menu-places" onClick={() => menu.current?.hidePopover()}>
        {[...placesOf(may).flatMap(({ places }) => places), settingsPlace()].map((place) => (
          <li key={place.to}>
            <PlaceLink place={place} />
          </li>
        ))}
      </ul>
    </>
  );
}
