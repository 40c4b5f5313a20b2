/** Under 768 px: brand and person above, the most used places below. */

import type { Account, Me } from "@emanet/client/source";
import { Search } from "lucide-react";
import { useRights } from "../api/rights.ts";
import { fullDay } from "../format.ts";
import markAddress from "../mark.svg";
import { ShownName } from "../parts/shown-name.tsx";
import { now } from "../platform.ts";
import { t } from "../strings/index.ts";
import { searchIsOpen } from "./keys.ts";
import { PersonMenu } from "./person-menu.tsx";
import { placesOf } from "./places.tsx";
import { PlaceLink } from "./side-bar.tsx";

/** As many as fit at 320 px with targets of 44 px. */
const maxTabs = 5;

export function MobileTop({ me, account }: { readonly me: Me; readonly account: Account | undefined }) {
  return (
    <header className="mobile-top">
      <img src={markAddress} alt="" width="28" height="28" />
      <div className="mobile-name">
        {account === undefined ? "Emanet" : <ShownName name={account.name} />}
        <span>{fullDay(now())}</span>
      </div>
      <button type="button" className="icon-button" aria-label={t.nav.search} onClick={() => searchIsOpen.set(true)}>
        <Search size={20} aria-hidden="true" />
      </button>
      <PersonMenu me={me} isSmall />
    </header>
  );
}

export function TabBar() {
  const { may } = useRights();
  const places = placesOf(may).flatMap((group) => group.places);
  return (
    <nav className="tab-bar" aria-label={t.nav.label}>
      {places.slice(0, maxTabs).map((place) => (
        <PlaceLink key={place.to} place={{ ...place, text: place.short ?? place.text }} />
      ))}
    </nav>
  );
}
