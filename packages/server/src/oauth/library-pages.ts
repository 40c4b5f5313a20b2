/** The pages that the library requests during its work: user code, confirmation, error. */

import { oauthScopes } from "../declarations.ts";
import type { OauthScope } from "../kernel/principal.ts";
import { noticeHtml, type TextKey } from "../pages/index.ts";
import { codeEntryHtml, deviceConfirmHtml } from "./html.ts";
import { currentLibraryContext } from "./library-context.ts";
import type { KoaContextWithOIDC } from "./oidc-provider.ts";

/** An error of the library: its code in the protocol, and its class. */
export interface ErrorView {
  readonly code: string;
  readonly name: string;
}

/** The error text of a user code, by the library's error class. */
const codeFailures: Readonly<Record<string, TextKey>> = {
  NotFoundError: "codeWrong",
  NoCodeError: "codeWrong",
  ExpiredError: "codeExpired",
  AlreadyUsedError: "codeUsed",
};

export function renderCodeEntry(ctx: KoaContextWithOIDC, error: ErrorView | null): string {
  const { language, prefilledCode } = currentLibraryContext();
  if (error?.name === "AbortedError") return noticeHtml(language, "failedTitle", "aborted");
  const failure = error === null ? null : codeFailures[error.name];
  if (failure === undefined) return renderFailure(error);
  return codeEntryHtml(language, { csrf: csrfOf(ctx), failure, code: prefilledCode ?? "" });
}

export function renderDeviceConfirm(
  ctx: KoaContextWithOIDC,
  client: { readonly clientName?: string | undefined; readonly clientId: string },
  device: unknown,
  code: string,
): string {
  const { address = "" } = device as { address?: string };
  const scope = ctx.oidc.entities.DeviceCode?.params?.scope;
  return deviceConfirmHtml(currentLibraryContext().language, {
    csrf: csrfOf(ctx),
    code,
    clientName: client.clientName ?? client.clientId,
    address,
    scopes: knownScopes(scope),
  });
}

export function renderDeviceSuccess(_ctx: KoaContextWithOIDC): string {
  return noticeHtml(currentLibraryContext().language, "doneTitle", "doneLead");
}

/** Errors that cannot be sent to the client, because the client or its redirect URI is not verified. */
export function renderFailure(error: ErrorView | null): string {
  const { language } = currentLibraryContext();
  const leads: Readonly<Record<string, TextKey>> = {
    invalid_redirect_uri: "failedRedirect",
    invalid_client: "failedClient",
  };
  return noticeHtml(language, "failedTitle", leads[error?.code ?? ""] ?? "failedLead", error?.code);
}

/** The known scopes in a `scope` parameter. */
export function knownScopes(scope: unknown): OauthScope[] {
  const asked = typeof scope === "string" ? scope.split(" ") : [];
  return asked.filter((word): word is OauthScope => Object.hasOwn(oauthScopes, word));
}

/** The library makes it for each page and stores it in its session. */
function csrfOf(ctx: KoaContextWithOIDC): string {
  const { secret } = (ctx.oidc.session?.state ?? {}) as { secret?: string };
  return secret ?? "";
}
