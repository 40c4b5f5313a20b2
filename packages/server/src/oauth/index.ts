/**
 * OAuth 2.0 for programs: client credentials, device code, authorization code with PKCE, refresh; metadata, keys,
 * revocation, introspection; the pages where people sign in and decide. Owns the tables `oauth_artifacts` and
 * `oauth_user_code_tries`.
 *
 * The protocol is `oidc-provider`'s, a certified library, called as a function (`bridge.ts`) and given its storage
 * (`adapter.ts`); where it reads the contract another way, requests are changed before it sees them (`requests.ts`).
 * Clients, sign-in, sessions, keys and access tokens belong to the domains below (`ports.ts`, `wiring.ts`).
 *
 * Invariants
 * - A grant is a session of a person: one ends with the other.
 * - A code is good once over all processes; a second use, however close, ends the grant.
 * - A refresh token has one successor over all processes. Its immediate predecessor gets that same one for 30 seconds;
 *   anything older ends the grant.
 * - One request is one transaction: no token without its record, no spent code without its token.
 * - A grant holds no scope that the role of the member who allowed it does not have.
 * - An interaction belongs to the browser that began it; its address alone is worth nothing.
 * - Nothing is allowed without a fresh sign-in and a decision about exactly this request.
 * - A decision makes one grant and one code, however often its button is pressed.
 * - A browser is sent to registered addresses only, and no outgoing request is ever made.
 *
 * | file | what |
 * |---|---|
 * | library.ts, visit.ts, bridge.ts | a request's way into the library and back |
 * | provider.ts, clients.ts, requests.ts | its configuration, and what is changed on the way in |
 * | adapter.ts, rotation.ts, store.ts, jobs.ts | its storage |
 * | interaction.ts, browser-cookies.ts, user-codes.ts | signing in, deciding, typing codes |
 * | pages.ts, html.ts, library-pages.ts | what people see |
 */

export { oauthRecurrences } from "./jobs.ts";

/** The agent's own client, which a migration made. */
export const agentClientId = "01990000-0000-7000-8000-00000000a6e7";
