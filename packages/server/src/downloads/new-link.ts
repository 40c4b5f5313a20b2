/** New links, and their secrets. A token and a cookie have 256 random bits, and are stored as keyed hashes. */

import type { Ctx } from "../kernel/http/endpoint.ts";
import { closed, text, timestamp } from "../kernel/http/schema.ts";
import { rowAccessOf } from "../kernel/principal.ts";
import { contentReply, type LinkTarget } from "./link-content.ts";
import type { LinkMaker } from "./link-makers.ts";
import { linkLifeMs } from "./rules.ts";
import { insertLink, type NewLink } from "./store.ts";

/** 256 bits cannot be guessed. */
const secretBytes = 32;

/** What a token looks like in an address. */
export const tokenPattern = "^[A-Za-z0-9_-]{43}$";
export const tokenLength = 43;

/** The path of a link; its cookie has the same. */
export function linkPath(token: string): string {
  return `/v1/downloads/${token}`;
}

/** Makes a link, and returns what its maker is told. */
export async function makeLink(ctx: Ctx, maker: LinkMaker, target: LinkTarget) {
  // Nothing of it is sent. What is not there is refused now, and not in the browser.
  await contentReply(ctx, maker, target, {});
  const token = newSecret(ctx);
  const expiresAt = new Date(ctx.clock.now().getTime() + linkLifeMs);
  const ofSnapshot = target.kind === "snapshot" ? target : null;
  const row: NewLink = {
    ...{ id: ctx.random.uuid(), account_id: maker.accountId, token_hash: tokenHash(ctx, token) },
    ...{ session_id: maker.sessionId, scopes: [...maker.scopes], expires_at: expiresAt },
    ...{ snapshot_id: ofSnapshot?.id ?? null, restore_id: ofSnapshot === null ? target.id : null },
    ...{ path: ofSnapshot?.path ?? null, format: ofSnapshot?.format ?? null },
  };
  await ctx.tx(rowAccessOf(maker), async (tx) => {
    await insertLink(tx, row);
    tx.audit({ action: "download_link.created", targets: auditTargets(row.id, target) });
  });
  return { url: `${ctx.publicUrl}${linkPath(token)}`, expires_at: expiresAt.toISOString() };
}

/** What audit records about a link name. */
export function auditTargets(linkId: string, { kind, id }: LinkTarget) {
  return [
    { type: kind, id },
    { type: "download_link", id: linkId },
  ];
}

/** The answer to who makes a link. */
export const linkShape = closed(
  {
    url: text(2000, { description: "Where the download is.", examples: ["https://…/v1/downloads/…"] }),
    expires_at: timestamp("Until when it can be used."),
  },
  { title: "DownloadLink" },
);

export function newSecret(ctx: Pick<Ctx, "random">): string {
  return ctx.random.bytes(secretBytes).toString("base64url");
}

export function tokenHash({ secrets }: Pick<Ctx, "secrets">, token: string): Buffer {
  return secrets.digest("download-link", `token ${token}`);
}

export function cookieHash({ secrets }: Pick<Ctx, "secrets">, cookie: string): Buffer {
  return secrets.digest("download-link", `cookie ${cookie}`);
}
