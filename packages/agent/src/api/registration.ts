/**
 * This machine's signing key and its registration with the service (docs/decisions/0601).
 *
 * A device has a random key. The key of an OAuth client is derived from its secret, so every machine with this credential has
 * the same one, and a machine that lost its files needs nobody's approval. What was registered is stored; after that the
 * stored key is used, also when the client gets a new secret.
 */

import { hkdfSync } from "node:crypto";
import { arch, hostname, release, type } from "node:os";
import path from "node:path";
import type { AgentVaultKeys } from "@emanet/client/source";
import { isProblem } from "@emanet/client/source";
import type { WriterKeys } from "@emanet/engine/remote";
import type { Signer, Writer } from "@emanet/engine/vault";
import { signerFromSeed, writerFromSeed } from "@emanet/engine/vault";
import type { AgentContext } from "../context.ts";
import { CommandFailure } from "../failure.ts";
import { readJsonFile, textIn, writeSecretFile } from "../state/secret-file.ts";
import { patiently } from "./calls.ts";
import type { Connection } from "./connection.ts";

/** A seed of Ed25519. */
const seedBytes = 32;

/** An agent that the service knows. */
export interface RegisteredAgent {
  readonly id: string;
  readonly seed: Buffer;
  readonly keys: readonly AgentVaultKeys[];
}

/** What the engine needs to write to a vault. */
export interface VaultWriter {
  readonly keys: WriterKeys;
  readonly signer: Writer;
}

export interface RegistrationWishes {
  readonly name?: string | undefined;
  /** Vaults by id; the default vault if absent. */
  readonly vaults?: readonly string[] | undefined;
}

/** The agent of this sign-in. It is registered if it is not yet. */
export async function ensureAgent(
  context: AgentContext,
  connection: Connection,
  wishes: RegistrationWishes = {},
): Promise<RegisteredAgent> {
  const known = storedAgent(connection);
  if (known !== null && wishes.vaults === undefined) return known;
  return register(context, connection, known?.seed ?? storedSeed(connection) ?? newSeed(context, connection), wishes);
}

/** What is stored of the agent, without asking the service. */
export function storedAgent(connection: Pick<Connection, "folder">): RegisteredAgent | null {
  const stored = readJsonFile(agentFile(connection));
  if (stored === null) return null;
  const [id, seed] = [textIn(stored, "id"), textIn(stored, "seed")];
  if (id === null || seed === null || !Array.isArray(stored.keys)) return null;
  return { id, seed: Buffer.from(seed, "hex"), keys: stored.keys as AgentVaultKeys[] };
}

/** A key of a registration whose answer did not come. */
function storedSeed(connection: Connection): Buffer | null {
  const seed = textIn(readJsonFile(agentFile(connection)) ?? {}, "seed");
  return seed === null ? null : Buffer.from(seed, "hex");
}

/** The writer's keys of a vault. They are read again if they are not there, or if `again` says that they are old. */
export async function vaultWriter(
  context: AgentContext,
  connection: Connection,
  vaultId: string,
  { again = false }: { readonly again?: boolean } = {},
): Promise<VaultWriter> {
  const agent = await ensureAgent(context, connection);
  const found = again ? undefined : keysOf(agent, vaultId);
  if (found !== undefined) return writerOf(agent, found);
  const renewed = await readKeysAgain(context, connection);
  const now = keysOf(renewed, vaultId) ?? (await vaultWriters(context, connection, [vaultId])).get(vaultId);
  if (now !== undefined && "signer" in now) return now;
  if (now === undefined)
    throw new CommandFailure(`this agent may not write to the vault ${vaultId}`, {
      advice: "A manager adds the vault to the agent, or `emanet login --vault` asks for it.",
    });
  return writerOf(renewed, now);
}

/** Reads the writer's keys of all vaults of the agent, and stores them in place of the old ones. */
export async function readKeysAgain(context: AgentContext, connection: Connection): Promise<RegisteredAgent> {
  const agent = await ensureAgent(context, connection);
  const { keys } = await connection.client.agents.getKeys({ id: agent.id }, patiently);
  return storeAgent(connection, { ...agent, keys });
}

/**
 * Vaults that are added in one request. The service makes the keys of each, on its disk, and has half a minute for a request. On a service that was ten times
 * too busy, 50 of them took longer.
 */
const vaultsPerRequest = 10;

/** The writer's keys of many vaults, by their id. Those that the agent does not have yet are asked for. */
export async function vaultWriters(
  context: AgentContext,
  connection: Connection,
  vaultIds: readonly string[],
): Promise<ReadonlyMap<string, VaultWriter>> {
  let agent = await ensureAgent(context, connection);
  const missing = [...new Set(vaultIds)].filter((id) => keysOf(agent, id) === undefined);
  const mayAdd = connection.signIn.identity.kind === "client";
  for (let at = 0; mayAdd && at < missing.length; at += vaultsPerRequest)
    agent = await register(context, connection, agent.seed, { vaults: missing.slice(at, at + vaultsPerRequest) });
  if (!mayAdd && missing.length > 0) agent = await readKeysAgain(context, connection);
  const keysById = new Map(agent.keys.map((keys) => [keys.vault_id, keys]));
  const found = vaultIds.flatMap((id): (readonly [string, VaultWriter])[] => {
    const keys = keysById.get(id);
    return keys === undefined ? [] : [[id, writerOf(agent, keys)]];
  });
  return new Map(found);
}

async function register(
  context: AgentContext,
  connection: Connection,
  seed: Buffer,
  { name, vaults }: RegistrationWishes,
): Promise<RegisteredAgent> {
  const { accountId, sessionId, clientId } = await connection.claims(patiently);
  const signer = signerFromSeed(seed);
  const writerId = connection.signIn.identity.kind === "client" ? clientId : (sessionId ?? "");
  // Stored before it is sent: an answer that is lost must not leave a key at the service that this machine does not have.
  storeSeed(connection, seed);
  try {
    const { agent, keys } = await connection.client.agents.create(
      {
        body: {
          name: name ?? hostname(),
          host: hostname().slice(0, 255),
          os: `${type()} ${release()} ${arch()}`.slice(0, 100),
          version: context.version,
          ...(vaults !== undefined && { vaults }),
          public_key: base64(signer.publicKey),
          signature: base64(signer.sign("agent", registrationText(accountId, writerId, signer))),
        },
      },
      patiently,
    );
    return storeAgent(connection, { id: agent.id, seed, keys });
  } catch (error) {
    if (!isProblem(error, "state_conflict")) throw error;
    throw new CommandFailure("the service knows another signing key of this sign-in", {
      advice: "A manager replaces the key in the dashboard, or revokes the agent; then sign in again.",
      cause: error,
    });
  }
}

function newSeed({ random }: AgentContext, { signIn }: Connection): Buffer {
  const { identity, url } = signIn;
  if (identity.kind === "device") return Buffer.from(random(seedBytes));
  const info = `emanet agent key\n${identity.clientId}`;
  return Buffer.from(hkdfSync("sha256", identity.clientSecret, url, info, seedBytes));
}

/** What the key signs: 16 bytes of the account, 16 of the session or client, the public key. */
function registrationText(accountId: string, writerId: string, { publicKey }: Signer): Buffer {
  return Buffer.concat([uuidBytes(accountId), uuidBytes(writerId), publicKey]);
}

function uuidBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll("-", ""), "hex");
}

function keysOf({ keys }: RegisteredAgent, vaultId: string): AgentVaultKeys | undefined {
  return keys.find(({ vault_id }) => vault_id === vaultId);
}

function writerOf({ seed }: RegisteredAgent, keys: AgentVaultKeys): VaultWriter {
  const bytes = (text: string) => Buffer.from(text, "base64");
  return {
    keys: {
      vaultId: uuidBytes(keys.vault_id),
      epoch: keys.epoch,
      publicKey: bytes(keys.public_key),
      blockIdKey: bytes(keys.block_id_key),
    },
    signer: writerFromSeed(seed, bytes(keys.registration)),
  };
}

function agentFile({ folder }: Pick<Connection, "folder">): string {
  return path.join(folder, "agent.json");
}

function storeSeed(connection: Connection, seed: Buffer): void {
  const before = readJsonFile(agentFile(connection)) ?? {};
  write(connection, { ...before, seed: seed.toString("hex") });
}

function storeAgent(connection: Connection, agent: RegisteredAgent): RegisteredAgent {
  write(connection, { id: agent.id, seed: agent.seed.toString("hex"), keys: agent.keys });
  return agent;
}

function write(connection: Connection, content: object): void {
  writeSecretFile(agentFile(connection), `${JSON.stringify(content, null, 2)}\n`);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
