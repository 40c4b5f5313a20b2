/** The download behind a link. The link is its own right: no token is needed. */

import { pathCookieHeader } from "../../kernel/http/cookies.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { archiveMediaTypes } from "../../snapshots/index.ts";
import { accessTo, contentReply, heldBy, targetOf } from "../link-content.ts";
import { auditTargets, cookieHash, linkPath, newSecret, tokenHash, tokenLength, tokenPattern } from "../new-link.ts";
import { resumableMs, useOf } from "../rules.ts";
import { findLink, type LinkRow, markUsed } from "../store.ts";

/** Between two chunks: longer than a slow object store takes for a batch. */
const deadlineMs = 60_000;

const cookie = "__Secure-download";

const headers = {
  "Content-Disposition": text(20_000, { description: "`attachment` with a name.", examples: ["attachment"] }),
  "Set-Cookie": text(500, {
    description: "With the first download: the cookie that continues it, for this path alone.",
    examples: ["__Secure-download=…"],
  }),
};

const mediaTypes = ["application/octet-stream", ...archiveMediaTypes] as const;

export const readDownload = endpoint(
  {
    id: "downloads.read",
    method: "GET",
    path: "/v1/downloads/{link}",
    tag: "snapshots",
    summary: "Download by a link",
    description: [
      "The content of a download link. The first `GET` uses the link; requests with the cookie that it sets continue the download for a day,",
      "a single file or a restore also by ranges. `HEAD` uses nothing. A link that was used or has expired, or whose maker has lost the right, is",
      "`download_expired`.",
    ].join(" "),
    access: { kind: "public" },
    notWhileBanned: true,
    content: true,
    cookies: [cookie],
    anyOrigin: true,
    params: closed({
      link: Type.String({
        ...{ minLength: tokenLength, maxLength: tokenLength, pattern: tokenPattern },
        ...{ description: "The secret of the link.", examples: ["A".repeat(tokenLength)] },
      }),
    }),
    deadlineMs,
    replies: {
      200: { description: "The content.", stream: mediaTypes, headers },
      206: { description: "A part of the content.", stream: mediaTypes, headers },
    },
    errors: ["download_expired", "snapshot_expired"],
  },
  async (ctx, { params, cookies, conditions, isHead }) => {
    const link = await ctx.read({ kind: "system" }, (tx) => findLink(tx, tokenHash(ctx, params.link)));
    if (link === undefined) throw new Problem("not_found");
    const sent = cookies[cookie];
    const use = useOf(link, sent === undefined ? null : cookieHash(ctx, sent), ctx.clock.now());
    if (use === "expired") throw new Problem("download_expired");
    const target = targetOf(link);
    const access = accessTo(target);
    const maker = await ctx.services.downloads.makerOf(link, access);
    const reply = await contentReply(ctx, maker, target, conditions).catch(asExpired);
    const body = heldBy(ctx, link, reply.body, access);
    if (isHead || use === "resumed") return { ...reply, body };
    const secret = newSecret(ctx);
    const maxAgeSeconds = resumableMs / 1000;
    const setCookie = pathCookieHeader(linkPath(params.link), { name: cookie, value: secret, maxAgeSeconds });
    const chunks = (signal: AbortSignal) => whenUsed(body.chunks(signal), () => markFirst(ctx, link, secret));
    return { ...reply, headers: { ...reply.headers, "Set-Cookie": setCookie }, body: { ...body, chunks } };
  },
);

/** What the link led to is gone. */
function asExpired(error: unknown): never {
  const isGone = error instanceof Problem && (error.code === "not_found" || error.code === "state_conflict");
  throw isGone ? new Problem("download_expired", { cause: error }) : error;
}

/**
 * The same chunks; the link is used when the first of them is there. A store that does not answer, or a client that has left by then,
 * leaves the link as it was.
 */
async function* whenUsed(chunks: AsyncIterable<Uint8Array>, use: () => Promise<void>): AsyncGenerator<Uint8Array> {
  let isUsed = false;
  for await (const chunk of chunks) {
    if (!isUsed) await use();
    isUsed = true;
    yield chunk;
  }
  if (!isUsed) await use();
}

/** Uses the link. Of two requests at the same time, the second is refused. */
async function markFirst(ctx: Ctx, link: LinkRow, secret: string): Promise<void> {
  await ctx.tx({ kind: "account", accountId: link.account_id }, async (tx) => {
    if (!(await markUsed(tx, link, cookieHash(ctx, secret)))) throw new Problem("download_expired");
    tx.audit({ action: "download_link.used", targets: auditTargets(link.id, targetOf(link)) });
  });
}
