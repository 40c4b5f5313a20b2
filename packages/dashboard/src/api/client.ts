/** The one client of the API in this page, and the cache of its answers. */

import { createClient, isProblem } from "@emanet/client/source";
import { type Query, QueryClient } from "@tanstack/react-query";
import { sessionCredentials } from "./session.ts";

/** The person waits: longer waits are shown with a countdown, and the card asks again by itself. */
const maxWaitMs = 2_000;

/** Data of a minute ago is shown while newer data is read. */
const staleMs = 60_000;

export const client = createClient({
  baseUrl: location.origin,
  credentials: sessionCredentials,
  cookies: true,
  language: document.documentElement.lang === "en" ? "en" : "tr",
  retries: { max: 2, maxWaitMs },
});

/** Lists of more pages are not read again as a whole: the service counts each page as a request. */
const mostPages = 3;

export function hasManyPages({ state: { data } }: Pick<Query, "state">): boolean {
  return typeof data === "object" && data !== null && "pages" in data && (data.pages as unknown[]).length > mostPages;
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleMs,
      // The client has repeated what is worth repeating.
      retry: false,
      refetchOnWindowFocus: (query) => !isProblem(query.state.error) && !hasManyPages(query),
      networkMode: "always",
    },
    mutations: { retry: false, networkMode: "always" },
  },
});
