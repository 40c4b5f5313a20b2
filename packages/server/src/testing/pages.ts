/** Pages for tests: a minimal browser, the forms that it sends, and the link landing pages of mails. */

import assert from "node:assert/strict";
import { codeAt } from "../identity/factors/totp.ts";
import { tokenFor } from "./accounts.ts";
import type { Sent, TestCall, TestService } from "./running.ts";
import { messageTo, tokenIn } from "./sent-messages.ts";

/** The part of a service that pages and tokens are tried out on. */
export interface Site {
  /** Its public address. */
  readonly url: string;
  send(method: string, path: string, call?: TestCall): Promise<Sent>;
  /** The next code of a person's app; each is good once. */
  nextCode(secret: string): string;
}

/** A test service as a site: its clock moves on for each code. */
export function siteOf(service: TestService): Site {
  return {
    url: service.url,
    send: service.send,
    nextCode: (secret) => {
      service.clock.advance(30_000);
      return codeAt(secret, service.clock.now());
    },
  };
}

export type Fields = Readonly<Record<string, string>>;

/** Sends a form. */
export function post(service: Site, target: string, fields: Fields, headers: Fields = {}): Promise<Sent> {
  return service.send("POST", target, {
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(fields).toString(),
  });
}

/** A minimal browser: keeps cookies and follows no redirects. */
export class CookieJar {
  readonly #service: Site;
  readonly #cookies = new Map<string, string>();

  constructor(service: Site) {
    this.#service = service;
  }

  get(target: string): Promise<Sent> {
    return this.#keep(this.#service.send("GET", this.#path(target), { headers: { cookie: this.header } }));
  }

  post(target: string, fields: Fields): Promise<Sent> {
    return this.#keep(post(this.#service, this.#path(target), fields, { cookie: this.header }));
  }

  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  #path(target: string): string {
    return target.startsWith(this.#service.url) ? target.slice(this.#service.url.length) : target;
  }

  async #keep(sending: Promise<Sent>): Promise<Sent> {
    const answer = await sending;
    for (const cookie of answer.headers["set-cookie"]?.split(/, (?=__Host-)/) ?? []) {
      const [pair = ""] = cookie.split(";");
      const at = pair.indexOf("=");
      if (pair.slice(at + 1) === "" || /expires=Thu, 01 Jan 1970|max-age=0/i.test(cookie)) {
        this.#cookies.delete(pair.slice(0, at));
      } else this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return answer;
  }
}

/** The value of a hidden field of a page. */
export function fieldOf(page: Sent, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(page.body.toString())?.[1] ?? "";
}

export function locationOf(answer: Sent): string {
  return answer.headers.location ?? "";
}

/** Invites a person into a new account; returns the secret of the link in their mail. */
export async function invited(
  service: TestService,
  person: { readonly email: string; readonly full_name?: string; readonly role?: string },
): Promise<string> {
  const { auth } = await tokenFor(service);
  const json = { full_name: "Can Örnek", role: "operator", ...person };
  const answer = await service.send("POST", "/v1/members", { json, headers: auth });
  assert.equal(answer.status, 201, answer.body.toString());
  return tokenIn(await messageTo(service.dataDir, person.email, "enrolment"));
}

/** Sends a link to its landing page as the script of the page does; returns the browser and the redirect. */
export async function enter(service: TestService, landingPage: string, link: string) {
  const jar = new CookieJar(siteOf(service));
  const answer = await jar.post(landingPage, { link });
  assert.equal(answer.status, 303, answer.body.toString());
  return { jar, next: locationOf(answer), answer };
}
