/**
 * Changes a request before the library reads it, where the library differs from the contract:
 *
 * - no `scope` means all scopes of the client (the library: none);
 * - an unknown scope is refused like a scope that the client does not have (the library: ignored);
 * - only the response mode `query` exists (the library: also two that need scripts or hide the code from the server);
 * - an introspected or revoked access token is a JWT (the library: refused), so it is replaced by its handle.
 *
 * Pure functions on parameters. Repeated parameters stay repeated: the library refuses them.
 */

import { oauthScopes } from "../declarations.ts";
import { tokenHandle } from "./adapter.ts";

/** A scope that no client has; it replaces unknown scopes. */
export const unknownScope = "unknown";

/** A response mode that does not exist. */
const unknownMode = "unknown";

/** Longest client id that is looked up: ours are UUIDs. */
const maxClientIdLength = 64;

/** Parameters of an authorization or device request, or of a token request for client credentials. */
export function withScopes(parameters: URLSearchParams, clientScopes: readonly string[]): URLSearchParams {
  const changed = new URLSearchParams(parameters);
  const asked = changed.getAll("scope");
  if (asked.length > 1) return changed;
  const words = (asked[0] ?? "").split(" ").filter((word) => word !== "");
  const scopes = words.length === 0 ? clientScopes : words.map((word) => (isScope(word) ? word : unknownScope));
  changed.set("scope", scopes.join(" "));
  return changed;
}

/** The scopes of a refresh: it can request fewer scopes, never others. */
export function withKnownScopes(parameters: URLSearchParams): URLSearchParams {
  return (parameters.get("scope") ?? "").trim() === "" ? without(parameters, "scope") : withScopes(parameters, []);
}

export function withQueryMode(parameters: URLSearchParams): URLSearchParams {
  const changed = new URLSearchParams(parameters);
  if (changed.getAll("response_mode").length > 1) return changed;
  changed.set("response_mode", (changed.get("response_mode") ?? "query") === "query" ? "query" : unknownMode);
  return changed;
}

/** Parameters of an introspection or revocation, and the JWT in them. */
export function withTokenHandle(parameters: URLSearchParams): { form: URLSearchParams; jwt: string | null } {
  const [token, ...more] = parameters.getAll("token");
  if (token === undefined || more.length > 0 || !isJwt(token)) return { form: parameters, jwt: null };
  const form = new URLSearchParams(parameters);
  form.set("token", tokenHandle);
  return { form, jwt: token };
}

function isJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);
}

export function without(parameters: URLSearchParams, name: string): URLSearchParams {
  const changed = new URLSearchParams(parameters);
  changed.delete(name);
  return changed;
}

/** The client id in a request; it is not authenticated. */
export function claimedClient(parameters: URLSearchParams, authorization: string | undefined): string | undefined {
  const basic = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? "")?.[1];
  const [encoded = ""] = basic === undefined ? [] : Buffer.from(basic, "base64").toString().split(":");
  const id = parameters.get("client_id") ?? decoded(encoded) ?? assertedClient(parameters.get("client_assertion"));
  return id !== undefined && id !== "" && id.length <= maxClientIdLength ? id : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return text === "" ? undefined : decodeURIComponent(text.replaceAll("+", "%20"));
  } catch {
    return undefined;
  }
}

function assertedClient(assertion: string | null): string | undefined {
  try {
    const { sub } = JSON.parse(Buffer.from(assertion?.split(".")[1] ?? "", "base64url").toString()) as {
      sub?: unknown;
    };
    return typeof sub === "string" ? sub : undefined;
  } catch {
    return undefined;
  }
}

function isScope(word: string): boolean {
  return Object.hasOwn(oauthScopes, word);
}
