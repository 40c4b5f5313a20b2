/**
 * Operations that will be retired. Two lines of a spec (`deprecated: { since, sunset }`) put `Deprecation` (RFC 9745),
 * `Sunset` (RFC 8594) and `Link` on every answer of it, and refuse it from the day of its sunset on, by the
 * application's clock.
 */

import { Problem } from "../problems.ts";
import type { Answer } from "./answer.ts";
import type { EndpointSpec } from "./endpoint.ts";

/** What customers are promised between the announcement and the end. */
const noticeMonths = 12;

/** Where an operation's deprecation leads to when its spec names no page. */
const defaultLink = "/docs";

export interface Retirement {
  /** Throws `endpoint_sunset` once the day has come. */
  check(now: Date): void;
  /** The answer with the headers `Deprecation`, `Sunset` and `Link`. */
  withHeaders(answer: Answer, publicUrl: string): Answer;
}

/** Compiles the deprecation of a spec. A spec that gives too little notice is a fault of ours. */
export function retirementOf({ id, deprecated }: EndpointSpec): Retirement {
  if (deprecated === undefined) return { check: () => undefined, withHeaders: (answer) => answer };
  const since = startOf(deprecated.since);
  const sunset = startOf(deprecated.sunset);
  const earliest = new Date(since);
  earliest.setUTCMonth(earliest.getUTCMonth() + noticeMonths);
  if (!(sunset >= earliest)) throw new Error(`${id} is to end less than ${noticeMonths} months after it was announced`);
  const link = deprecated.link ?? defaultLink;
  return {
    check(now) {
      if (now >= sunset) throw new Problem("endpoint_sunset");
    },
    withHeaders(answer, publicUrl) {
      const { link: own, ...headers } = answer.headers;
      const page = link.startsWith("/") ? `${publicUrl}${link}` : link;
      const links = [own ?? [], `<${page}>; rel="deprecation"`, `<${page}>; rel="sunset"`].flat();
      const dates = { deprecation: `@${since.getTime() / 1000}`, sunset: sunset.toUTCString() };
      return { ...answer, headers: { ...headers, ...dates, link: links.join(", ") } };
    },
  };
}

function startOf(day: string): Date {
  return new Date(`${day}T00:00:00.000Z`);
}
