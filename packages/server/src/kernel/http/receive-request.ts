/**
 * The first stages of every request, before its body is read: its id, its language, its sender, its address, and the
 * limits. The order of the refusals is in `refusals.ts`.
 */

import type { Language } from "../problems.ts";
import { authenticate, withoutCredential } from "./authentication.ts";
import { addressKey } from "./client-address.ts";
import type { Endpoint } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import { isOauthPath } from "./path-rules.ts";
import { banRefusal, refusalBeforeRouting } from "./refusals.ts";
import { type RequestContext, type RequestHead, single } from "./request-context.ts";
import { checkLimits, countersOf } from "./request-limits.ts";

const requestIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

export async function receiveRequest(
  kernel: HttpKernel,
  head: RequestHead,
  endpoint: Endpoint | null,
): Promise<RequestContext> {
  await kernel.opened;
  if (kernel.clock.sync !== undefined) await kernel.clock.sync();
  const { paths } = kernel.declared;
  const startedAtMs = kernel.clock.now().getTime();
  const address = kernel.addresses.of(head.peer, single(head.headers["x-forwarded-for"]));
  const key = addressKey(address);
  const errorForm = endpoint?.spec.wire === "oauth" || isOauthPath(paths, head.url) ? "oauth" : "problem";
  // Under OAuth the header has the client's credentials, and the OAuth server checks them. That of a share is no access token.
  const isOther = errorForm === "oauth" || endpoint?.spec.access.kind === "share";
  const credential = isOther ? undefined : head.headers.authorization;
  const authentication = credential === undefined ? withoutCredential : await authenticate(kernel, credential);
  const { principal, refusal: token } = authentication;
  const ban = banRefusal(kernel, endpoint, authentication, key);
  const counters = countersOf(kernel, endpoint, principal, key, head);
  const checked = checkLimits(kernel.limiter, endpoint, counters, ban !== null);
  const limits = checked instanceof Promise ? await checked : checked;
  const id = kernel.random.uuid();
  const given = single(head.headers["x-request-id"]);
  return {
    id,
    requestId: given !== undefined && requestIdPattern.test(given) ? given : id,
    language: preferredLanguage(head.headers["accept-language"]),
    address,
    addressKey: key,
    startedAtMs,
    endpoint,
    principal,
    limitStatuses: limits.statuses,
    uncounted: limits.uncounted,
    errorForm,
    refusal: refusalBeforeRouting({ ban, limits: limits.refusal, token }, paths, head, principal),
  };
}

/** The language with the greatest weight in `Accept-Language`; English when there is none. */
function preferredLanguage(header: string | undefined): Language {
  if (header === undefined) return "en";
  let best: { language: Language; weight: number } = { language: "en", weight: 0 };
  for (const part of header.slice(0, maxAcceptLanguageLength).split(",")) {
    const match = /^\s*(tr|en|\*)(?:-[A-Za-z0-9-]+)?\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?))?\s*$/i.exec(part);
    const language = match?.[1]?.toLowerCase();
    const weight = Number(match?.[2] ?? 1);
    if ((language === "tr" || language === "en") && weight > best.weight) best = { language, weight };
  }
  return best.language;
}

/** Browsers send a few dozen characters; the rest is not worth parsing. */
const maxAcceptLanguageLength = 256;
