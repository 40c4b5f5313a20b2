/**
 * The frame of every screen: who is signed in decides what is in it. Without a session it is the sign-in screen; when the
 * session ends while the page is open, sign-in comes over the page and the page stays as it is.
 */

import { useQuery } from "@tanstack/react-query";
import { Navigate, Outlet, useLocation, useMatches } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { queries } from "../api/client.ts";
import { listen } from "../api/live.ts";
import { accountQuery, meQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { sessionState } from "../api/session.ts";
import { useObservable } from "../observable.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ErrorCard, Skeleton } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { OfflineBar, SuspendedBar } from "./bars.tsx";
import { helpIsOpen, searchIsOpen } from "./keys.ts";
import type { SearchDialog } from "./search-dialog.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { SideBar } from "./side-bar.tsx";
import { StepUpDialog } from "./step-up-dialog.tsx";
import { MobileTop, TabBar } from "./tab-bar.tsx";

const SignIn = lazy(async () => ({ default: (await import("../screens/sign-in.tsx")).SignIn }));
const SignInForm = lazy(async () => ({ default: (await import("../screens/sign-in-form.tsx")).SignInForm }));

/** Addresses that need no session: their screens have a frame of their own. */
const openPaths: readonly string[] = ["/app/apply", "/app/shared-audit"];

export function Shell() {
  const state = useObservable(sessionState);
  // By what is shown, not by the address: the address changes before its screen is loaded.
  const isOpen = useMatches({ select: (matches) => matches.some(({ fullPath }) => openPaths.includes(fullPath)) });
  if (isOpen) return <Outlet />;
  if (state === "out") {
    return (
      <Suspense>
        <SignIn />
      </Suspense>
    );
  }
  return (
    <>
      <SignedIn />
      {state === "over" && <SessionOver />}
    </>
  );
}

/** Kept when it is loaded: a part that had to wait once is shown a third of a second later by the library. */
let loadedSearch: typeof SearchDialog | null = null;
const loadSearch = async () => {
  loadedSearch = (await import("./search-dialog.tsx")).SearchDialog;
  return { default: loadedSearch };
};
const LateSearch = lazy(loadSearch);

/** After the first screen has loaded what it needs. */
const searchAheadMs = 1_000;

/** Ctrl K opens the search from everywhere. */
function SearchPlace() {
  const isOpen = useObservable(searchIsOpen);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      searchIsOpen.set(true);
    };
    addEventListener("keydown", onKey);
    // Loaded ahead, so that the first letters typed after Ctrl K are not lost.
    const ahead = setTimeout(() => void loadSearch(), searchAheadMs);
    return () => {
      removeEventListener("keydown", onKey);
      clearTimeout(ahead);
    };
  }, []);
  if (!isOpen) return null;
  const Search = loadedSearch ?? LateSearch;
  return (
    <Suspense>
      <Search onClose={() => searchIsOpen.set(false)} />
    </Suspense>
  );
}

const KeysHelp = lazy(async () => ({ default: (await import("./keys-help.tsx")).KeysHelp }));

/** The keys of the page, and their list. */
function Keys() {
  const isOpen = useObservable(helpIsOpen);
  useShortcuts();
  if (!isOpen) return null;
  return (
    <Suspense>
      <KeysHelp onClose={() => helpIsOpen.set(false)} />
    </Suspense>
  );
}

function SessionOver() {
  // What failed while nobody was signed in is read again.
  useEffect(() => () => void queries.invalidateQueries(), []);
  return (
    <Dialog title={t.states.sessionOver} onClose={() => undefined} className="dialog-narrow" mustAnswer>
      <div className="dialog-body">
        <p className="lead">{t.states.sessionOverDetail}</p>
        <Suspense fallback={<Skeleton />}>
          <SignInForm />
        </Suspense>
      </div>
    </Dialog>
  );
}

function SignedIn() {
  const me = useQuery(meQuery);
  const { may } = useRights();
  const isMember = me.data !== undefined && me.data.role !== "staff";
  const { data: account } = useQuery({ ...accountQuery, enabled: isMember });
  useEffect(() => (isMember ? listen() : undefined), [isMember]);
  if (me.data === undefined) {
    if (me.isPending) return <div className="app app-waiting" />;
    return (
      <main className="content">
        <ErrorCard error={me.error} retry={() => void me.refetch()} />
      </main>
    );
  }
  return (
    <div className="app">
      <a className="skip" href="#content">
        {t.skip}
      </a>
      <SideBar me={me.data} account={account} />
      <MobileTop me={me.data} account={account} />
      <div className="stage">
        <OfflineBar />
        {account?.state === "suspended" && <SuspendedBar />}
        {isMember ? <Outlet /> : <StaffOutlet />}
      </div>
      <TabBar />
      <StepUpDialog />
      <Keys />
      {may("snapshots:read") && <SearchPlace />}
    </div>
  );
}

/** Staff have no account, so no overview: their own screen is the first one. */
function StaffOutlet() {
  const path = useLocation({ select: ({ pathname }) => pathname });
  return path === "/" ? <Navigate to="/app/staff" replace /> : <Outlet />;
}
