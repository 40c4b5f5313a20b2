/** `GET /v1/search`: names of files over all snapshots. */

import { type CursorBinding, pageFields, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type FoundFile, type SearchPosition, searchNames } from "../../paths/index.ts";
import { pathFields, textFields } from "../../snapshots/index.ts";
import { allowedVaults, findVaultOfTaxpayer } from "../../vaults/index.ts";
import { projectionSchema, showProgress, showVersion, versionFields } from "../shapes.ts";

const operation = "files.search";
const byPlace = sortable("place");

/** Longer than any name that a person types; a path is read by `files.list_history`. */
const maxQueryLength = 200;
const defaultLimit = 25;

const foundFile = closed(
  {
    vault_id: uuid("The vault it is in."),
    source: closed({ id: uuid("Id of the source."), name: text(200, { examples: ["sunucu-1:/srv/belgeler"] }) }),
    ...pathFields,
    ...versionFields,
  },
  { title: "FoundFile" },
);

export const searchFiles = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/search",
    tag: "files",
    summary: "Search names of files",
    description:
      "Files, directories and links over all snapshots whose name has every word of the query, each with its newest version. Case, accents and the dots of Turkish letters make no difference. A word of one or two letters is the beginning of a name; `mart/fat` finds names that begin with `fat` in folders whose paths end with `mart`. By vault, the paths that came last first. A page can have fewer items than `limit` and still be followed by another.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    query: closed({
      query: text(maxQueryLength, {
        pattern: "^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$",
        description: "Parts of a name.",
        examples: ["mizan 2026"],
      }),
      vault_id: Type.Optional(uuid("Only in this vault.")),
      taxpayer_id: Type.Optional(uuid("Only in the vault of this taxpayer.")),
      limit: pageQuery.limit,
      cursor: pageQuery.cursor,
    }),
    replies: {
      200: {
        description: "A page.",
        body: closed(
          {
            ...pageFields(foundFile),
            projection: projectionSchema,
          },
          { title: "FoundFilePage" },
        ),
      },
    },
  },
  async (ctx, { principal, query }) => {
    const { accountId } = principal;
    const { query: words, vault_id: vaultId, taxpayer_id: taxpayerId, limit = defaultLimit } = query;
    const allowed = allowedVaults(principal);
    const filters = [accountId, allowed, words, vaultId ?? null, taxpayerId ?? null];
    const binding: CursorBinding = { operation, filters, sorting: byPlace };
    const { after } = ctx.cursors.start(query, binding);
    const { found, next, progress } = await ctx.read(rowAccessOf(principal), async (tx) => {
      let vaultIds = allowed;
      const keepOnly = (id: string | undefined) => {
        const isSeen = id !== undefined && (vaultIds?.includes(id) ?? true);
        vaultIds = isSeen ? [id] : [];
      };
      if (vaultId !== undefined) keepOnly(vaultId);
      if (taxpayerId !== undefined) keepOnly((await findVaultOfTaxpayer(tx, accountId, taxpayerId))?.id);
      const wanted = { query: words, vaultIds, limit, after: after && placeOf(after.key) };
      return searchNames({ tx, secrets: ctx.secrets, accountId }, wanted);
    });
    const cursor = next && ctx.cursors.after({ key: `${next.vaultId} ${next.path}`, id: next.vaultId }, query, binding);
    const body = { data: found.map(show), has_more: cursor !== null, next_cursor: cursor };
    return { status: 200, body: { ...body, projection: showProgress(progress) } };
  },
);

function placeOf(key: string): SearchPosition {
  const [vaultId = "", path = "0"] = key.split(" ");
  return { vaultId, path: Number(path) };
}

function show(file: FoundFile) {
  const name = file.path.subarray(file.path.lastIndexOf("/") + 1);
  return {
    vault_id: file.vault_id,
    source: { id: file.source_id, name: file.source_name },
    ...textFields("name", name),
    ...textFields("path", file.path),
    ...showVersion(file),
  };
}
