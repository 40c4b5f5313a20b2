/**
 * SMS by any HTTP gateway that takes one POST per message. The differences between gateways are settings: URL, body
 * template, content type, `Authorization`, and the pattern of a successful answer.
 *
 * Nouns: the *template* is the body with `{to}` (E.164), `{to_local}` (see {@link localNumber}), `{text}` and `{id}`.
 *
 * Invariants
 * - Values are escaped for the content type, in one pass. A text cannot end its string or element, and braces in it
 *   are not placeholders.
 * - Redirects are refused: they would send phone number and text to a URL that is not configured.
 * - An answer is read up to {@link answerBytesMax} and within {@link sendTimeoutMs}. It is matched and not stored, because
 *   gateways quote phone numbers in it.
 *
 * 400, 413 and 422 are permanent failures: the gateway did not understand this message. Every other failure is transient,
 * also a refused authentication: the message waits until the settings are corrected.
 */

import ipaddr from "ipaddr.js";
import { type OutgoingSms, PermanentDeliveryError, type SmsPort, TransientDeliveryError } from "./ports.ts";

export interface SmsGateway {
  readonly url: string;
  readonly bodyTemplate: string;
  readonly contentType: string;
  readonly authorization: string | null;
  /** The pattern that the body of a 2xx answer must match; null when the status is enough. */
  readonly success: RegExp | null;
}

/** @throws TypeError when the settings are wrong; the message says why and quotes no value. */
export function createGatewaySms(gateway: SmsGateway): SmsPort {
  const fill = bodyFiller(gateway);
  const url = checkedUrl(gateway.url);
  const headers = {
    "content-type": gateway.contentType,
    accept: "*/*",
    ...(gateway.authorization !== null && { authorization: gateway.authorization }),
  };

  return {
    async send(sms, signal) {
      if (!/^\+[1-9]\d{6,14}$/.test(sms.to)) throw new PermanentDeliveryError("invalid_recipient");
      const deadline = AbortSignal.any([AbortSignal.timeout(sendTimeoutMs), ...(signal === undefined ? [] : [signal])]);
      const answer = await post(url, { headers, body: fill(sms), signal: deadline });
      if (permanentStatuses.has(answer.status)) throw new PermanentDeliveryError(`gateway_${answer.status}`);
      if (answer.status < 200 || answer.status > 299) throw new TransientDeliveryError(`gateway_${answer.status}`);
      if (gateway.success !== null && !new RegExp(gateway.success.source, gateway.success.flags).test(answer.body)) {
        throw new TransientDeliveryError("gateway_refused");
      }
    },
  };
}

/** Twice the time of a slow gateway; well below a job's attempt (60 s). */
const sendTimeoutMs = 20_000;

/** Answers are a few hundred bytes. */
const answerBytesMax = 64 * 1024;

const permanentStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

/** Without TLS the texts could be read on the network, so plain http is allowed only to loopback. */
function checkedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const host = url?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
  const local = host === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback");
  if (url === undefined || !(url.protocol === "https:" || (url.protocol === "http:" && local))) {
    throw new TypeError("the SMS gateway must be an https URL");
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("the SMS gateway's URL must not contain credentials; use the setting for its authorization");
  }
  return url;
}

/** Checks the template once and returns a function that fills it. */
function bodyFiller(gateway: SmsGateway): (sms: OutgoingSms) => string {
  const template = gateway.bodyTemplate;
  const mediaType = gateway.contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const escaped = escapes.find(([pattern]) => pattern.test(mediaType))?.[1];
  if (escaped === undefined) throw new TypeError("the SMS body must be JSON, XML or a form");
  if (!template.includes("{text}") || !/\{to(?:_local)?\}/.test(template)) {
    throw new TypeError("the SMS body needs {text} and one of {to} and {to_local}");
  }
  if (/<!\[CDATA\[/.test(template)) throw new TypeError("the SMS body must not use CDATA; values are escaped already");

  const fill = (sms: OutgoingSms): string => {
    const values = { to: sms.to, to_local: localNumber(sms.to), text: sms.text, id: sms.id };
    return template.replaceAll(/\{(to|to_local|text|id)\}/g, (_match, name: keyof typeof values) =>
      escaped(values[name]),
    );
  };
  if (escaped === jsonEscape && !isJson(fill(sampleSms)))
    throw new TypeError("the SMS body is not JSON once filled in");
  return fill;
}

const sampleSms: OutgoingSms = {
  id: "00000000-0000-7000-8000-000000000000",
  to: "+905000000000",
  text: 'a "text"',
  template: "sample",
  language: "tr",
};

const escapes: readonly (readonly [RegExp, (value: string) => string])[] = [
  [/^application\/(?:[\w.-]+\+)?json$/, jsonEscape],
  [/^(?:application|text)\/(?:[\w.-]+\+)?xml$/, xmlEscape],
  [/^application\/x-www-form-urlencoded$/, (value) => encodeURIComponent(value)],
];

function jsonEscape(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** XML 1.0 cannot represent most control characters, so they are removed. */
function xmlEscape(value: string): string {
  return value
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\t\n\r]|[\uFFFE\uFFFF]/gu, "")
    .replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The form that Turkish gateways expect: ten digits for a Turkish number (`5320000000`), else `00` and the number with
 * its country code.
 */
export function localNumber(e164: string): string {
  return /^\+90\d{10}$/.test(e164) ? e164.slice(3) : `00${e164.slice(1)}`;
}

interface GatewayCall {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly signal: AbortSignal;
}

async function post(url: URL, call: GatewayCall): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(url, { method: "POST", redirect: "manual", ...call });
    return { status: response.status, body: await readBounded(response) };
  } catch (error) {
    if (error instanceof TransientDeliveryError) throw error;
    throw new TransientDeliveryError(call.signal.aborted ? "gateway_timeout" : "gateway_unreachable");
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > answerBytesMax) throw new TransientDeliveryError("gateway_answer_too_large"); // Throwing cancels the rest of the body.
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
