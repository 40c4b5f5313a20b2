/** What agents look like from outside: the JSON of the API, and the keys that an agent is given. */

import { oneLinePattern } from "../accounts/index.ts";
import {
  closed,
  identifier,
  nullable,
  oneOf,
  type Static,
  Type,
  text,
  timestamp,
  uuid,
} from "../kernel/http/schema.ts";
import { version as release } from "../version.ts";
import { maxAgentVaults, onlineMs } from "./rules.ts";
import type { AgentRow } from "./store.ts";

/** The longest path that a snapshot can have. */
const maxRootLength = 4096;

/** Folders under which an agent restores: a machine has a handful. */
const maxRoots = 50;

const base64 = "^[A-Za-z0-9+/]+={0,2}$";

/** Standard base64 of so many bytes. */
export function bytesText(length: number, description: string) {
  const characters = 4 * Math.ceil(length / 3);
  return Type.String({
    minLength: characters,
    maxLength: characters,
    pattern: base64,
    description,
    examples: [Buffer.alloc(length, 7).toString("base64")],
  });
}

export const agentFields = {
  name: text(200, { pattern: oneLinePattern, description: "Name of the agent.", examples: ["Muhasebe sunucusu"] }),
  host: nullable(text(255, { pattern: oneLinePattern, description: "Name of the machine.", examples: ["sunucu-1"] })),
  os: nullable(text(100, { pattern: oneLinePattern, description: "Operating system.", examples: ["Windows 11"] })),
  version: nullable(text(50, { pattern: oneLinePattern, description: "Version of the agent.", examples: ["1.0.0"] })),
  allow_overwrite: Type.Boolean({ description: "Whether the machine permits restores that overwrite files." }),
  roots: Type.Array(
    text(maxRootLength, { pattern: oneLinePattern, description: "A folder.", examples: ["/srv/geri-yukleme"] }),
    { maxItems: maxRoots, uniqueItems: true, description: "The folders under which the machine permits restores." },
  ),
  vaults: Type.Array(uuid("Id of a vault."), {
    maxItems: maxAgentVaults,
    uniqueItems: true,
    description: "The vaults that it may write to.",
  }),
};

const results = ["completed", "failed", "canceled"] as const;

export const agentSchema = closed(
  {
    id: uuid("Id of the agent."),
    ...agentFields,
    public_key: bytesText(32, "Its Ed25519 key, base64."),
    writer: closed({
      kind: oneOf(["agent", "client"], "`agent`: a device grant. `client`: an OAuth client of the account."),
      id: uuid("Id of the grant's session, or of the client."),
    }),
    last_seen_at: nullable(timestamp("When it last made itself known, to the minute.")),
    online: Type.Boolean({ description: "Seen within the last 15 minutes." }),
    last_result: nullable(
      closed({
        snapshot_id: nullable(uuid("The snapshot.")),
        status: oneOf(results, "How its last upload ended."),
        failure: nullable(identifier("^[a-z_]+$", "Why it failed: `failure.code` of the snapshot.", "quota_exceeded")),
        at: timestamp("When."),
      }),
    ),
    newest_version: text(50, {
      pattern: oneLinePattern,
      description: "The newest version of the agent. It is released with the service.",
      examples: ["1.1.0"],
    }),
    created_by: nullable(uuid("The member who registered it or allowed its grant.")),
    created_at: timestamp("When it was registered."),
  },
  { title: "Agent" },
);

/** `vaultIds`: those that the reader may see; null for all. */
export function agentShape(row: AgentRow, now: Date, vaultIds: readonly string[] | null): Static<typeof agentSchema> {
  const {
    last_seen_at: seen,
    last_snapshot_id,
    last_result: status,
    last_failure_code: failure,
    last_result_at: at,
  } = row;
  return {
    id: row.id,
    name: row.name,
    host: row.host,
    os: row.os,
    version: row.software_version,
    allow_overwrite: row.allow_overwrite,
    roots: [...row.roots],
    vaults: row.vault_ids.filter((id) => vaultIds?.includes(id) ?? true),
    public_key: row.public_key.toString("base64"),
    writer: { kind: row.writer_kind, id: row.writer_id },
    last_seen_at: seen?.toISOString() ?? null,
    online: seen !== null && now.getTime() - seen.getTime() < onlineMs,
    last_result:
      status === null || at === null ? null : { snapshot_id: last_snapshot_id, status, failure, at: at.toISOString() },
    newest_version: release,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
  };
}

const vaultKeys = closed(
  {
    vault_id: uuid("The vault."),
    registration: bytesText(104, "The agent's key, signed by the vault. Base64. Goes into every session header."),
    epoch: Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647, description: "The newest key pair." }),
    public_key: bytesText(1216, "Public key of the epoch (X-Wing), base64."),
    block_id_key: bytesText(32, "Key of the block ids, base64. With it ids can be computed, and nothing can be read."),
  },
  { title: "AgentVaultKeys" },
);

export const keysSchema = Type.Array(vaultKeys, {
  maxItems: maxAgentVaults,
  description: "The writer's keys of each vault. They encrypt and cannot decrypt.",
});
