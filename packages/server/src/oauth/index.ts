/**
 * OAuth 2.0 for programs: client credentials, device code, authorization code with PKCE, refresh; metadata, keys,
 * revocation, introspection; the pages where people sign in and decide. Owns the tables `oauth_artifacts` and
 * `oauth_user_code_tries`.
 *
 * `oidc-provider`, a certified library, implements the protocol. It is called as a function (`call-library.ts`) with our storage
 * (`adapter.ts`). Where it differs from the contract, requests are changed before it reads them (`requests.ts`). Clients,
 * sign-in, sessions, keys and access tokens belong to other domains (`ports.ts`, `ports-implementation.ts`).
 *
 * Invariants
 * - A grant is a session of a person. When one ends, the other ends.
 * - A code works once over all processes. A second use ends the grant, however soon.
 * - A refresh token has one successor over all processes. A repeated use within 30 seconds gets the same successor; use
 *   of an older token ends the grant.
 * - One request is one transaction: there is no token without its audit record and no used code without its token.
 * - A grant has no scope that the role of its member does not have.
 * - An interaction belongs to the browser that started it; its URL alone is not enough.
 * - Every grant needs a fresh sign-in and a decision about exactly this request.
 * - A decision makes one grant and one code, however often its button is pressed.
 * - A browser is redirected only to registered URIs, and the service makes no outgoing request.
 *
 * | file | task |
 * |---|---|
 * | library.ts, library-context.ts, call-library.ts | calling the library |
 * | provider.ts, clients.ts, requests.ts | its configuration, and changes of requests before the call |
 * | adapter.ts, rotation.ts, store.ts, jobs.ts | its storage |
 * | interaction.ts, browser-cookies.ts, user-codes.ts | sign-in, decision, user codes |
 * | pages.ts, html.ts, library-pages.ts | the pages |
 */

export { oauthRecurrences } from "./jobs.ts";

/** The client of the agents. A migration creates it. */
export const agentClientId = "01990000-0000-7000-8000-00000000a6e7";
