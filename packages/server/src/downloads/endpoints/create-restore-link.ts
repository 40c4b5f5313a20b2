/** A link that downloads a completed restore once, without a token. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { restoreAccess, restoreId } from "../../restores/index.ts";
import { linkShape, makeLink } from "../new-link.ts";

export const createRestoreLink = endpoint(
  {
    ...restoreAccess,
    id: "restores.create_download_link",
    method: "POST",
    path: "/v1/restore/{id}/download-link",
    tag: "restores",
    summary: "Make a download link of a restore",
    description: [
      "A link for browsers, which cannot send a token with a download. It can be used once, within five minutes; `HEAD` does not use it.",
      "The answer to the first `GET` sets a cookie for the link alone, with which the same browser can continue an interrupted download",
      "for a day. The link reads with the rights of the one who made it, and ends with them.",
    ].join(" "),
    whileSuspended: true,
    params: restoreId,
    replies: { 201: { description: "The link.", body: linkShape } },
    errors: ["state_conflict", "download_expired"],
  },
  async (ctx, { principal, params }) => ({
    status: 201,
    body: await makeLink(ctx, principal, { kind: "restore", id: params.id }),
  }),
);
