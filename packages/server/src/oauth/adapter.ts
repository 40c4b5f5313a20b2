/**
 * Where the library keeps things: PostgreSQL, in the transaction of the visit.
 *
 * - Ids are secrets (codes, tokens, cookies): a keyed hash is stored. Payloads are sealed, bound to kind and id.
 * - Expiry is decided by the application's clock. The library compares with the machine's clock and cannot be told
 *   another, so `iat` and `exp` are translated into its time whenever a payload is read.
 * - Access tokens are JWTs of ours and are not stored: `AccessToken` and `ClientCredentials` are read from the token
 *   that was presented, which the library knows by a *handle* (it refuses structured tokens where it expects its own).
 * - A grant is a session: it is found while the session lives, and destroying one ends the other.
 * - People decide one after the other: an interaction is locked when it is read, and so is a device code that was found
 *   by its user code. Two buttons, or two browsers, at the same moment make one grant and one code.
 * - Redeeming is one conditional update. Whoever comes second with a code ends the whole grant; for refresh tokens see
 *   `rotation.ts`.
 */

import { clientMetadata } from "./clients.ts";
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
import { currentVisit, type Visit } from "./visit.ts";

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

/** For what a model never does; a call is a mistake of ours. */
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
      currentVisit().found.userCodeKnown = payload !== undefined;
      return payload;
    },
    consume: (id) => consume(kind, id),
    destroy: (id) => destroy(kind, id),
    // The library asks each model in turn and the grant last; ending that deletes everything.
    revokeByGrantId: async () => undefined,
  };
}

async function save(kind: string, id: string, payload: AdapterPayload, ttlSeconds?: number): Promise<void> {
  const visit = currentVisit();
  const { tx, found } = visit;
  // The successor is there already, as it was first given out.
  if (kind === "RefreshToken" && found.rotation?.isRepeat) return;
  if (ttlSeconds === undefined) throw new Error(`the OAuth library wants to keep a ${kind} for ever`);
  const idHash = hashOf(visit, kind, id);
  const expiresAt = new Date(tx.now.getTime() + ttlSeconds * 1000);
  const grantId = kind === "Grant" ? id : (payload.grantId ?? null);
  await saveArtifact(tx, {
    kind,
    idHash,
    grantId,
    userCodeHash: payload.userCode === undefined ? null : hashOf(visit, "user_code", payload.userCode),
    uidHash: payload.uid === undefined ? null : hashOf(visit, "uid", payload.uid),
    sealedPayload: visit.ctx.secrets.seal("oauth", Buffer.from(JSON.stringify(payload)), contextOf(kind, idHash)),
    expiresAt,
  });
  if (kind === "RefreshToken" && grantId !== null) await prolongGrant(tx, grantId, expiresAt);
}

async function find(kind: string, key: ArtifactKey, value: string): Promise<AdapterPayload | undefined> {
  const visit = currentVisit();
  const names = { id_hash: kind, user_code_hash: "user_code", uid_hash: "uid" } as const;
  const how = kind === "Interaction" || key === "user_code_hash" ? "locked" : "read";
  const row = await findArtifact(visit.tx, kind, key, hashOf(visit, names[key], value), how);
  if (row === undefined || (row.expiresAt <= visit.tx.now && !toldOfExpiry.has(kind))) return undefined;
  return payloadOf(visit, row);
}

/** Who comes with one of these too late is told so, by the library; everything else is gone when its time is over. */
const toldOfExpiry: ReadonlySet<string> = new Set(["AuthorizationCode", "DeviceCode", "RefreshToken"]);

/** The payload with its times as the library's clock would have them. */
function payloadOf(visit: Visit, row: Artifact): AdapterPayload {
  const bytes = visit.ctx.secrets.unseal("oauth", row.sealedPayload, contextOf(row.kind, row.idHash));
  const payload = JSON.parse(bytes.toString()) as AdapterPayload;
  return {
    ...payload,
    iat: libraryTime(visit, row.createdAt),
    exp: libraryTime(visit, row.expiresAt),
    ...(row.consumedAt && !isRepeatable(visit, row) && { consumed: libraryTime(visit, row.consumedAt) }),
  };
}

/** A moment of the application's clock, in seconds of the library's. */
function libraryTime({ tx, libraryClock }: Visit, moment: Date): number {
  return Math.floor((libraryClock.now().getTime() + moment.getTime() - tx.now.getTime()) / 1000);
}

async function consume(kind: string, id: string): Promise<void> {
  const visit = currentVisit();
  const idHash = hashOf(visit, kind, id);
  const row = await findArtifact(visit.tx, kind, "id_hash", idHash);
  if (row?.grantId) await lockGrant(visit.tx, row.grantId);
  const isFirst = await consumeArtifact(visit.tx, kind, idHash);
  const isRepeat = !isFirst && (await isRepeatedRefresh(visit, kind, id));
  if (isFirst || isRepeat) {
    if (kind === "RefreshToken") visit.found.rotation = { successor: successorOf(visit, id), isRepeat };
    if (isRepeat) await auditRepeat(visit);
    return;
  }
  // Somebody was faster: the same secret in two hands.
  if (row?.grantId) await endGrant(row.grantId);
  throw new errors.InvalidGrant("already redeemed");
}

/** Hidden from the library, which would end the grant; {@link consume} has the last word, under the grant's lock. */
function isRepeatable(visit: Visit, row: Artifact): boolean {
  return visit.isRefresh && isRecent(visit, row);
}

/** Whether a spent refresh token is the immediate predecessor of the current one, and still in time. Under the grant's lock. */
async function isRepeatedRefresh(visit: Visit, kind: string, id: string): Promise<boolean> {
  if (kind !== "RefreshToken") return false;
  const spent = await findArtifact(visit.tx, kind, "id_hash", hashOf(visit, kind, id));
  if (spent === undefined || !isRepeatable(visit, spent)) return false;
  const successor = await findArtifact(visit.tx, kind, "id_hash", hashOf(visit, kind, successorOf(visit, id)));
  return successor !== undefined && successor.consumedAt === null;
}

async function destroy(kind: string, id: string): Promise<void> {
  const visit = currentVisit();
  const idHash = hashOf(visit, kind, id);
  const row = await findArtifact(visit.tx, kind, "id_hash", idHash);
  if (row?.grantId) await lockGrant(visit.tx, row.grantId);
  await deleteArtifact(visit.tx, kind, idHash);
}

async function findGrant(id: string): Promise<AdapterPayload | undefined> {
  const { ports, found } = currentVisit();
  const payload = await find("Grant", "id_hash", id);
  const grant = payload && (await ports.grants.find(id));
  if (grant === undefined) return undefined;
  found.grant = grant;
  return payload;
}

async function endGrant(id: string): Promise<void> {
  const { ports, tx, endReason } = currentVisit();
  await lockGrant(tx, id);
  await deleteByGrant(tx, id);
  await ports.grants.end(id, endReason);
}

async function findClient(id: string): Promise<AdapterPayload | undefined> {
  const { ports, found } = currentVisit();
  const client = await ports.clients.find(id);
  if (client === undefined) return undefined;
  found.client = client;
  return clientMetadata(client);
}

/** One use per assertion; a second one is refused even when both come at the same moment. */
async function claimOnce(id: string, payload: AdapterPayload, ttlSeconds: number): Promise<void> {
  const visit = currentVisit();
  const idHash = hashOf(visit, "ReplayDetection", id);
  const isNew = await saveNewArtifact(visit.tx, {
    kind: "ReplayDetection",
    idHash,
    sealedPayload: visit.ctx.secrets.seal(
      "oauth",
      Buffer.from(JSON.stringify(payload)),
      contextOf("ReplayDetection", idHash),
    ),
    expiresAt: new Date(visit.tx.now.getTime() + ttlSeconds * 1000),
  });
  if (!isNew) throw new errors.InvalidClientAuth("client assertion tokens must only be used once");
}

/** What the library knows the presented access token by; no code or token of its own has this form. */
export const tokenHandle = "presented~token";

async function findToken(kind: "AccessToken" | "ClientCredentials", id: string): Promise<AdapterPayload | undefined> {
  const visit = currentVisit();
  const token = id === tokenHandle && visit.presented ? await visit.ports.tokens.find(visit.presented) : undefined;
  if (token === undefined || token.isMachine !== (kind === "ClientCredentials")) return undefined;
  visit.found.token = token;
  return {
    kind,
    jti: id,
    clientId: token.claims.clientId,
    scope: token.scopes.join(" "),
    iat: libraryTime(visit, token.claims.issuedAt),
    exp: libraryTime(visit, token.claims.expiresAt),
  };
}

/** Ends the session that an access token answers to, and with it everything else that came of the grant. */
async function endToken(): Promise<void> {
  const { presented } = currentVisit();
  if (presented !== undefined) await endGrant(presented.sessionId);
}

function hashOf({ ctx }: Visit, name: string, value: string): Buffer {
  return ctx.secrets.digest("oauth-id", `${name}\n${value}`);
}

/** What a device code is kept by. */
export function deviceCodeHash(visit: Visit, code: string): Buffer {
  return hashOf(visit, "DeviceCode", code);
}

function contextOf(kind: string, idHash: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${kind}\n`), idHash]);
}
