/** `createClient`: makes a client of the API from its options. */

import { type EmanetApi, operations } from "./api.generated.ts";
import { type OperationSpec, operation } from "./operation.ts";
import { defaultPlatform } from "./platform.ts";
import { type Credentials, type Platform, type RawAnswer, type RawRequest, sender } from "./request.ts";
import type { Retries } from "./retry.ts";

export interface ClientOptions {
  /** Origin of the service: `https://api.emanet.example`. */
  readonly baseUrl: string;
  /** How to sign in; without it only public operations work. */
  readonly credentials?: Credentials;
  readonly retries?: Retries;
  /** Longest time of one attempt. Default 60 000: the service answers within 30 s. */
  readonly timeoutMs?: number;
  /** Language of the texts of problems. */
  readonly language?: "tr" | "en";
  /** Sends the cookies of the service, for `browserSession`. */
  readonly cookies?: boolean;
  /** Functions that replace those of the platform: network, clock, random numbers, timers. */
  readonly platform?: Partial<Platform>;
}

export interface EmanetClient extends EmanetApi {
  /** Sends a request for which there is no operation: the body may be a stream, and the answer is not parsed. */
  request(request: RawRequest): Promise<RawAnswer>;
}

/** The service answers within 30 s; the rest is for slow connections. */
const defaultTimeoutMs = 60_000;

export function createClient(options: ClientOptions): EmanetClient {
  const platform: Platform = { ...defaultPlatform, ...options.platform };
  const send = sender({
    baseUrl: originOf(options.baseUrl),
    credentials: options.credentials,
    headers: options.language === undefined ? {} : { "accept-language": options.language },
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    retries: options.retries ?? {},
    mode: options.cookies === true ? "include" : "omit",
    platform,
  });
  const groups: Record<string, Record<string, unknown>> = {};
  for (const [id, spec] of Object.entries<OperationSpec>(operations)) {
    const [group = "", name = ""] = id.split(".");
    groups[group] = { ...groups[group], [name]: operation(spec, send, platform.newKey) };
  }
  // The table and the type are generated from the same document.
  return { ...(groups as unknown as EmanetApi), request: send };
}

/** A token is never sent in clear text, except to this machine. */
function originOf(baseUrl: string): string {
  const url = new URL(baseUrl);
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal)) {
    throw new TypeError("the base URL must begin with https://");
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
