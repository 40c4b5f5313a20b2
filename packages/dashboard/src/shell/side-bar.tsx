/** The side bar: account, search, places, storage, person. Under 768 px the tab bar takes its place. */

import type { Account, Me } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { isClosed, nightsQuery, usageTotalQuery, webhooksQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { count, initials, sizeParts } from "../format.ts";
import { Brand } from "../parts/brand.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { t } from "../strings/index.ts";
import { searchIsOpen } from "./keys.ts";
import { PersonMenu } from "./person-menu.tsx";
import { type Place, placesOf, settingsPlace } from "./places.tsx";

/** The same nights as the list of taxpayers, so that one request serves both. */
export const boardDays = 30;

export function SideBar({ me, account }: { readonly me: Me; readonly account: Account | undefined }) {
  const rights = useRights();
  return (
    <aside className="side-bar" aria-label="Emanet">
      <Link to="/" className="brand-link" aria-label={`Emanet, ${t.nav.overview}`}>
        <Brand />
      </Link>
      {account !== undefined && <AccountCard account={account} />}
      {rights.may("snapshots:read") && (
        <button type="button" className="search-button" onClick={() => searchIsOpen.set(true)}>
          <Search size={15} aria-hidden="true" />
          {t.nav.search}
          <kbd>Ctrl K</kbd>
        </button>
      )}
      <nav aria-label={t.nav.label} className="places">
        {placesOf(rights.may).map(({ title, places }) => (
          <div key={places[0]?.to} className="place-group">
            {title !== null && <h2>{title}</h2>}
            <ul>
              {places.map((place) => (
                <li key={place.to}>
                  <PlaceLink place={place} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div className="side-foot">
        {rights.may("snapshots:read") && <Storage />}
        <PlaceLink place={settingsPlace()} />
        <PersonMenu me={me} />
      </div>
    </aside>
  );
}

function AccountCard({ account: { name, package: kind } }: { readonly account: Account }) {
  return (
    <div className="account-card">
      <span className="account-mark" aria-hidden="true">
        {initials(name)}
      </span>
      <span className="account-name">
        <ShownName name={name} />
        <span>{t.packages[kind] ?? kind}</span>
      </span>
    </div>
  );
}

export function PlaceLink({ place }: { readonly place: Place }) {
  const { Icon } = place;
  return (
    <Link to={place.to} className="place" activeOptions={{ exact: place.to === "/", includeSearch: false }}>
      <Icon size={17} aria-hidden="true" />
      <span className="place-text">{place.text}</span>
      {place.badge === "taxpayers" && <NightBadge ofTaxpayers />}
      {place.badge === "sources" && <NightBadge ofTaxpayers={false} />}
      {place.badge === "webhooks" && <WebhookBadge />}
    </Link>
  );
}

/** How many taxpayers were not backed up tonight, or how many sources that are of no taxpayer. */
function NightBadge({ ofTaxpayers }: { readonly ofTaxpayers: boolean }) {
  const { data } = useQuery(nightsQuery(boardDays));
  const failed = data?.rows.filter(({ states, taxpayer_id: id }) => {
    return states.at(-1) === "failed" && (id !== null) === ofTaxpayers;
  });
  return <Badge problems={failed?.length ?? 0} />;
}

/** How many the service has disabled. */
function WebhookBadge() {
  const { data } = useQuery(webhooksQuery);
  return <Badge problems={data?.filter(isClosed).length ?? 0} />;
}

function Badge({ problems }: { readonly problems: number }) {
  if (problems === 0) return null;
  return (
    <span className="badge">
      <Glyph status="failed" size={11} />
      <span aria-hidden="true">{count(problems)}</span>
      <span className="sr-only">{t.nav.problems(problems)}</span>
    </span>
  );
}

/** What is stored, and of which quota, where every vault has one. */
function Storage() {
  const { data } = useQuery(usageTotalQuery(boardDays));
  if (data === undefined || data.vaults === 0) return null;
  const { stored_bytes: stored, quota_bytes: quota } = data;
  const shown = sizeParts(stored);
  return (
    <div className="storage">
      <div className="storage-text">
        <span>{t.nav.storage}</span>
        <span>
          <strong>{shown.value}</strong>{" "}
          {quota === null ? shown.unit : `/ ${sizeParts(quota).value} ${sizeParts(quota).unit}`}
        </span>
      </div>
      {quota !== null && <progress className="bar" max={quota} value={stored} aria-label={t.nav.storage} />}
    </div>
  );
}
