/**
 * Signing in and deciding, between the library's two halves of a request. States of an *interaction*, which the library
 * keeps and a cookie binds to a browser (`browser-cookies.ts`):
 *
 *   waiting for sign-in → (right e-mail, password and code of a member who may allow it) → waiting for a decision
 *   → approved (a grant, which is a session, exists) | denied
 *
 * From either of the first two a person can go to denied. Approved and denied lead back to the library, which spends
 * the interaction. Forms carry a token made from the interaction's id; the id alone, which is in the address, is
 * refused without its cookie.
 */

import { timingSafeEqual } from "node:crypto";
import { oauthScopes } from "../declarations.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { MemberRole, OauthScope } from "../kernel/principal.ts";
import type { LibraryContext } from "./library-context.ts";
import { knownScopes } from "./library-pages.ts";
import type { Provider } from "./oidc-provider.ts";
import type { OauthClient, SignedIn } from "./ports.ts";

type LibraryInteraction = InstanceType<Provider["Interaction"]>;

/** What a page needs to know of an interaction. */
export interface Interaction {
  readonly uid: string;
  readonly client: OauthClient;
  readonly scopes: readonly OauthScope[];
  readonly place: { readonly kind: "device" | "return"; readonly text: string };
  readonly redirectUri: unknown;
  /** Where the library waits. */
  readonly returnTo: string;
  readonly signedIn: SignedIn | null;
  /** What of {@link scopes} the person who signed in can allow: never more than their own role may do. */
  readonly grantable: readonly OauthScope[];
  readonly isDecided: boolean;
  readonly stored: LibraryInteraction;
}

/** The interaction that an address names; undefined when it is over. Whose browser it is was found before. */
export async function findInteraction(
  provider: Provider,
  context: LibraryContext,
  uid: string,
): Promise<Interaction | undefined> {
  const stored = await provider.Interaction.find(uid);
  const client = stored && (await context.ports.clients.find(String(stored.params.client_id)));
  if (stored === undefined || client === undefined) return undefined;
  const { scope, redirect_uri: redirectUri } = stored.params;
  const scopes = knownScopes(scope);
  const person = personOf(stored);
  return {
    uid,
    client,
    scopes,
    place: await placeOf(provider, stored, redirectUri),
    redirectUri,
    returnTo: stored.returnTo,
    signedIn: person,
    grantable: person === null ? [] : await grantableBy(context, person, scopes),
    isDecided: stored.result?.consent !== undefined || stored.result?.error !== undefined,
    stored,
  };
}

async function placeOf(
  provider: Provider,
  stored: LibraryInteraction,
  redirectUri: unknown,
): Promise<Interaction["place"]> {
  if (stored.deviceCode !== undefined) {
    const code = await provider.DeviceCode.find(stored.deviceCode, { ignoreExpiration: true });
    const { address = "" } = (code?.deviceInfo ?? {}) as { address?: string };
    return { kind: "device", text: address };
  }
  const uri = String(redirectUri);
  const { host, protocol } = URL.canParse(uri) ? new URL(uri) : { host: "", protocol: "" };
  return { kind: "return", text: host === "" ? protocol : host };
}

/** Who signed in, with the role that they had then: the page shows what follows from it. */
interface Person extends SignedIn {
  readonly role: MemberRole | null;
}

/** As the library keeps it: as JSON. */
type KeptPerson = Omit<Person, "authTime" | "credentialsAt"> & Readonly<Record<"authTime" | "credentialsAt", string>>;

function personOf({ result }: LibraryInteraction): Person | null {
  const kept = result?.person as KeptPerson | undefined;
  if (kept === undefined) return null;
  return { ...kept, authTime: new Date(kept.authTime), credentialsAt: new Date(kept.credentialsAt) };
}

/**
 * A role that changes before the decision can only take something away from what the page showed. A password or factor
 * that is replaced meanwhile takes everything: who signed in with the old one may not be the person.
 */
async function grantableBy(
  context: LibraryContext,
  person: Person,
  scopes: readonly OauthScope[],
): Promise<OauthScope[]> {
  const roles = [person.role, await context.ports.people.roleOf(person)];
  return scopes.filter((scope) => roles.every((role) => oauthScopes[scope].roles.some((known) => known === role)));
}

/** Whether members of this account may allow anything to the client: it is the service's own, or theirs. */
export function mayAllow(client: OauthClient, accountId: string): boolean {
  return client.accountId === null || client.accountId === accountId;
}

export async function rememberSignIn(
  context: LibraryContext,
  { stored }: Interaction,
  signedIn: SignedIn,
): Promise<void> {
  const { memberId, accountId, amr, authTime, credentialsAt } = signedIn;
  const times = { authTime: authTime.toISOString(), credentialsAt: credentialsAt.toISOString() };
  const role = (await context.ports.people.roleOf(signedIn)) ?? null;
  stored.result = {
    login: { accountId: `${accountId}:${memberId}`, amr: [...amr], remember: false },
    person: { memberId, accountId, amr, ...times, role } satisfies KeptPerson,
  };
  await stored.persist();
}

/** Opens the grant and its session, with one id. Scopes that are not grantable count as refused. */
export async function approve(
  provider: Provider,
  context: LibraryContext,
  { stored, client, scopes, grantable }: Interaction,
  { memberId, accountId, amr, authTime }: SignedIn,
): Promise<void> {
  if (grantable.length === 0) throw new Error("nothing is left to be granted");
  const id = context.ctx.random.uuid();
  const person = { memberId, accountId, amr, authTime };
  await context.ports.grants.open({ ...person, id, clientId: client.id, kind: client.kind, scopes: grantable });
  const grant = new provider.Grant({
    clientId: client.id,
    accountId: `${accountId}:${memberId}`,
  });
  grant.jti = id;
  grant.addOIDCScope(grantable.join(" "));
  const refused = scopes.filter((scope) => !grantable.includes(scope));
  if (refused.length > 0) grant.rejectOIDCScope(refused.join(" "));
  await grant.save();
  stored.result = { ...stored.result, consent: { grantId: id } };
  await stored.persist();
}

export async function deny({ stored }: Interaction): Promise<void> {
  stored.result = { error: "access_denied", error_description: "the person did not allow it" };
  await stored.persist();
}

/** What the forms of an interaction must carry. */
export function formToken(ctx: Pick<Ctx, "secrets">, uid: string): string {
  return ctx.secrets.digest("oauth-form", uid).toString("base64url");
}

export function isFormToken(ctx: Pick<Ctx, "secrets">, uid: string, given: string): boolean {
  const expected = Buffer.from(formToken(ctx, uid));
  const actual = Buffer.from(given);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
