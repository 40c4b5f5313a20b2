/** Secrets of links. A token and a cookie have 256 random bits, and are stored as keyed hashes. */

import type { Ctx } from "../kernel/http/endpoint.ts";
import type { WantedContent } from "./link-content.ts";
import type { LinkMaker } from "./link-makers.ts";
import { linkLifeMs } from "./rules.ts";
import type { NewLink } from "./store.ts";

/** 256 bits cannot be guessed. */
const secretBytes = 32;

/** What a token looks like in an address. */
export const tokenPattern = "^[A-Za-z0-9_-]{43}$";
export const tokenLength = 43;

/** The path of a link; its cookie has the same. */
export function linkPath(token: string): string {
  return `/v1/downloads/${token}`;
}

/** The row of a new link, and what its maker is told. */
export function newLink(ctx: Ctx, maker: LinkMaker, { id, path, format }: WantedContent) {
  const token = newSecret(ctx);
  const expiresAt = new Date(ctx.clock.now().getTime() + linkLifeMs);
  const row: NewLink = {
    ...{ id: ctx.random.uuid(), account_id: maker.accountId, token_hash: tokenHash(ctx, token) },
    ...{ session_id: maker.sessionId, scopes: [...maker.scopes] },
    ...{ snapshot_id: id, path, format, expires_at: expiresAt },
  };
  return { row, answer: { url: `${ctx.publicUrl}${linkPath(token)}`, expires_at: expiresAt.toISOString() } };
}

export function newSecret(ctx: Pick<Ctx, "random">): string {
  return ctx.random.bytes(secretBytes).toString("base64url");
}

export function tokenHash({ secrets }: Pick<Ctx, "secrets">, token: string): Buffer {
  return secrets.digest("download-link", `token ${token}`);
}

export function cookieHash({ secrets }: Pick<Ctx, "secrets">, cookie: string): Buffer {
  return secrets.digest("download-link", `cookie ${cookie}`);
}
