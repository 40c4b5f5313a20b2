/**
 * The storage of the library: PostgreSQL, in the transaction of the library context.
 *
 * - Ids are secrets (codes, tokens, cookies), so a keyed hash is stored. Payloads are encrypted and bound to kind and id.
 * - The application's clock decides expiry. The library always uses the machine's clock, so `iat` and `exp` are converted
 *   to that clock when a payload is read.
 * - Access tokens are our own JWTs and are not stored. `AccessToken` and `ClientCredentials` are read from the presented
 *   token. The library gets a *handle* for it, because it refuses structured tokens.
 * - A grant is a session. It exists while the session exists, and destroying one ends the other.
 * - An interaction is locked when it is read, and so is a device code that is found by its user code. So two buttons or
 *   two browsers at the same moment make one grant and one code.
 * - Redeeming is one conditional update. A second use of a code ends the whole grant; for refresh tokens see
 *   `rotation.ts`.
 */

import { clientMetadata } from "./clients.ts";
import { currentLibraryContext, type LibraryContext } from "./library-context.ts";
import { type Adapter, type AdapterPayload, errors } from "./oidc-provider.ts";
import { auditRepeat, isRecent, successorOf } from "./rotation.ts";
import {
  type Artifact,
  type ArtifactKey,
  consumeArtifact,
  deleteArtifact,
  deleteByGrant,
  findArtifact,
  lockGrant,
  prolongGrant,
  saveArtifact,
  saveNewArtifact,
} from "./store.ts";

/** The adapter of one of the library's models. */
export function createAdapter(kind: string): Adapter {
  switch (kind) {
    case "Client":
      return { ...unused, find: findClient };
    case "AccessToken":
    case "ClientCredentials":
      return { ...unused, upsert: async () => undefined, find: (id) => findToken(kind, id), destroy: endToken };
    case "ReplayDetection":
      return { ...unused, find: async () => undefined, upsert: claimOnce };
    case "Grant":
      return { ...stored(kind), find: findGrant, destroy: endGrant };
    default:
      return stored(kind);
  }
}

/** For methods that a model never uses; a call is a bug. */
const unused: Adapter = {
  upsert: refuse,
  find: refuse,
  findByUserCode: refuse,
  findByUid: refuse,
  consume: refuse,
  destroy: refuse,
  revokeByGrantId: async () => undefined,
};

async function refuse(): Promise<never> {
  throw new Error("the OAuth library used its storage in a way that it is not configured for");
}

function stored(kind: string): Adapter {
  return {
    upsert: (id, payload, ttlSeconds) => save(kind, id, payload, ttlSeconds),
    find: (id) => find(kind, "id_hash", id),
    findByUid: (uid) => find(kind, "uid_hash", uid),
    findByUserCode: async (code) => {
      const payload = await find(kind, "user_code_hash", code);
      currentLibraryContext().found.userCodeKnown = payload !== undefined;
      return payload;
    },
    consume: (id) => consume(kind, id),
    destroy: (id) => destroy(kind, id),
    // The library calls each model and the grant last. Ending the grant deletes everything.
    revokeByGrantId: async () => undefined,
  };
}

async function save(kind: string, id: string, payload: AdapterPayload, ttlSeconds?: number): Promise<void> {
  const context = currentLibraryContext();
  const { tx, found } = context;
  // The successor was already stored when it was first issued.
  if (kind === "RefreshToken" && found.rotation?.isRepeat) return;
  if (ttlSeconds === undefined) throw new Error(`the OAuth library wants to keep a ${kind} for ever`);
  const idHash = hashOf(context, kind, id);
  const expiresAt = new Date(tx.now.getTime() + ttlSeconds * 1000);
  const grantId = kind === "Grant" ? id : (payload.grantId ?? null);
  await saveArtifact(tx, {
    kind,
    idHash,
    grantId,
    userCodeHash: payload.userCode === undefined ? null : hashOf(context, "user_code", payload.userCode),
    uidHash: payload.uid === undefined ? null : hashOf(context, "uid", payload.uid),
    sealedPayload: context.ctx.secrets.seal("oauth", Buffer.from(JSON.stringify(payload)), contextOf(kind, idHash)),
    expiresAt,
  });
  if (kind === "RefreshToken" && grantId !== null) await prolongGrant(tx, grantId, expiresAt);
}

async function find(kind: string, key: ArtifactKey, value: string): Promise<AdapterPayload | undefined> {
  const context = currentLibraryContext();
  const names = { id_hash: kind, user_code_hash: "user_code", uid_hash: "uid" } as const;
  const how = kind === "Interaction" || key === "user_code_hash" ? "locked" : "read";
  const row = await findArtifact(context.tx, kind, key, hashOf(context, names[key], value), how);
  if (row === undefined || (row.expiresAt <= context.tx.now && !toldOfExpiry.has(kind))) return undefined;
  return payloadOf(context, row);
}

/** Expired rows of these kinds are still found, so that the library can answer "expired". Others are not. */
const toldOfExpiry: ReadonlySet<string> = new Set(["AuthorizationCode", "DeviceCode", "RefreshToken"]);

/** The payload with its times converted to the library's clock. */
function payloadOf(context: LibraryContext, row: Artifact): AdapterPayload {
  const bytes = context.ctx.secrets.unseal("oauth", row.sealedPayload, contextOf(row.kind, row.idHash));
  const payload = JSON.parse(bytes.toString()) as AdapterPayload;
  return {
    ...payload,
    iat: libraryTime(context, row.createdAt),
    exp: libraryTime(context, row.expiresAt),
    ...(row.consumedAt && !isRepeatable(context, row) && { consumed: libraryTime(context, row.consumedAt) }),
  };
}

/** Converts a time of the application's clock to seconds of the library's clock. */
function libraryTime({ tx, libraryClock }: LibraryContext, moment: Date): number {
  return Math.floor((libraryClock.now().getTime() + moment.getTime() - tx.now.getTime()) / 1000);
}

async function consume(kind: string, id: string): Promise<void> {
  const context = currentLibraryContext();
  const idHash = hashOf(context, kind, id);
  const row = await findArtifact(context.tx, kind, "id_hash", idHash);
  if (row?.grantId) await lockGrant(context.tx, row.grantId);
  const isFirst = await consumeArtifact(context.tx, kind, idHash);
  const isRepeat = !isFirst && (await isRepeatedRefresh(context, kind, id));
  if (isFirst || isRepeat) {
    if (kind === "RefreshToken") context.found.rotation = { successor: successorOf(context, id), isRepeat };
    if (isRepeat) await auditRepeat(context);
    return;
  }
  // Another request was faster, so two callers have the same secret.
  if (row?.grantId) await endGrant(row.grantId);
  throw new errors.InvalidGrant("already redeemed");
}

/** Hides `consumed` from the library, which would end the grant. {@link consume} decides under the grant's lock. */
function isRepeatable(context: LibraryContext, row: Artifact): boolean {
  return context.isRefresh && isRecent(context, row);
}

/** Whether a used refresh token is the direct predecessor and can still be repeated. Under the lock of the grant. */
async function isRepeatedRefresh(context: LibraryContext, kind: string, id: string): Promise<boolean> {
  if (kind !== "RefreshToken") return false;
  const spent = await findArtifact(context.tx, kind, "id_hash", hashOf(context, kind, id));
  if (spent === undefined || !isRepeatable(context, spent)) return false;
  const successor = await findArtifact(context.tx, kind, "id_hash", hashOf(context, kind, successorOf(context, id)));
  return successor !== undefined && successor.consumedAt === null;
}

async function destroy(kind: string, id: string): Promise<void> {
  const context = currentLibraryContext();
  const idHash = hashOf(context, kind, id);
  const row = await findArtifact(context.tx, kind, "id_hash", idHash);
  if (row?.grantId) await lockGrant(context.tx, row.grantId);
  await deleteArtifact(context.tx, kind, idHash);
}

async function findGrant(id: string): Promise<AdapterPayload | undefined> {
  const { ports, found } = currentLibraryContext();
  const payload = await find("Grant", "id_hash", id);
  const grant = payload && (await ports.grants.find(id));
  if (grant === undefined) return undefined;
  found.grant = grant;
  return payload;
}

async function endGrant(id: string): Promise<void> {
  const { ports, tx, endReason } = currentLibraryContext();
  await lockGrant(tx, id);
  await deleteByGrant(tx, id);
  await ports.grants.end(id, endReason);
}

async function findClient(id: string): Promise<AdapterPayload | undefined> {
  const { ports, found } = currentLibraryContext();
  const client = await ports.clients.find(id);
  if (client === undefined) return undefined;
  found.client = client;
  return clientMetadata(client);
}

/** An assertion can be used once; the second of two parallel uses is refused. */
async function claimOnce(id: string, payload: AdapterPayload, ttlSeconds: number): Promise<void> {
  const context = currentLibraryContext();
  const idHash = hashOf(context, "ReplayDetection", id);
  const isNew = await saveNewArtifact(context.tx, {
    kind: "ReplayDetection",
    idHash,
    sealedPayload: context.ctx.secrets.seal(
      "oauth",
      Buffer.from(JSON.stringify(payload)),
      contextOf("ReplayDetection", idHash),
    ),
    expiresAt: new Date(context.tx.now.getTime() + ttlSeconds * 1000),
  });
  if (!isNew) throw new errors.InvalidClientAuth("client assertion tokens must only be used once");
}

/** The handle of the presented access token. The library's own codes and tokens never have this form. */
export const tokenHandle = "presented~token";

async function findToken(kind: "AccessToken" | "ClientCredentials", id: string): Promise<AdapterPayload | undefined> {
  const context = currentLibraryContext();
  const token =
    id === tokenHandle && context.presented ? await context.ports.tokens.find(context.presented) : undefined;
  if (token === undefined || token.isMachine !== (kind === "ClientCredentials")) return undefined;
  context.found.token = token;
  return {
    kind,
    jti: id,
    clientId: token.claims.clientId,
    scope: token.scopes.join(" "),
    iat: libraryTime(context, token.claims.issuedAt),
    exp: libraryTime(context, token.claims.expiresAt),
  };
}

/** Ends the session of an access token, and so everything that was issued from the grant. */
async function endToken(): Promise<void> {
  const { presented } = currentLibraryContext();
  if (presented !== undefined) await endGrant(presented.sessionId);
}

function hashOf({ ctx }: LibraryContext, name: string, value: string): Buffer {
  return ctx.secrets.digest("oauth-id", `${name}\n${value}`);
}

/** The lookup key of a device code. */
export function deviceCodeHash(context: LibraryContext, code: string): Buffer {
  return hashOf(context, "DeviceCode", code);
}

function contextOf(kind: string, idHash: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${kind}\n`), idHash]);
}
