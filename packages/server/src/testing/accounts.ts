/** Writes accounts and people of every kind directly to the database, for tests of access rules. */

import { randomUUID } from "node:crypto";
import { storedRows } from "./rows.ts";
import type { TestService } from "./running.ts";

/** How the bearer of a token differs from the default: an owner of an active corporate account, with every scope. */
export interface Bearer {
  readonly accountId?: string;
  /** An existing person, who gets another session. */
  readonly personId?: string;
  readonly role?: string;
  readonly package?: string;
  readonly state?: "active" | "suspended" | "closed";
  readonly scopes?: readonly string[] | null;
  readonly kind?: "api" | "dashboard" | "agent";
  /** `client` for client credentials, `grant` for a program that acts for a member. */
  readonly as?: "member" | "client" | "grant" | "staff";
  /** The role and the vaults of a client. */
  readonly clientRole?: string;
  /** An existing client: all agents share one. */
  readonly clientId?: string;
  readonly vaultIds?: readonly string[] | null;
  /** The age of the second factor. */
  readonly factorAgeMs?: number;
}

export interface MadeBearer {
  readonly accountId: string | null;
  readonly personId: string | null;
  readonly clientId: string | null;
  readonly sessionId: string;
}

/** Makes an account, a person or client, and an open session. Returns the data for an access token. */
export async function makeBearer(service: TestService, wanted: Bearer = {}): Promise<MadeBearer> {
  const { as = "member", role = "owner", kind = "dashboard", scopes = null, factorAgeMs = 0 } = wanted;
  const now = service.clock.now();
  const sessionId = randomUUID();
  const accountId = as === "staff" ? null : (wanted.accountId ?? (await makeAccount(service, wanted)));
  const personId = as === "client" ? null : (wanted.personId ?? randomUUID());
  const clientId = as === "client" || as === "grant" ? (wanted.clientId ?? randomUUID()) : null;
  const run = (text: string, values: readonly unknown[]) => storedRows(service.database, text, values);
  if (personId !== null && wanted.personId === undefined) {
    await run(
      `insert into emanet.people (id, account_id, role, state, email, email_key, full_name, language, created_at, updated_at)
       values ($1, $2, $3, 'active', $4, $4, 'Test Person', 'tr', $5, $5)`,
      [personId, accountId, as === "staff" ? "staff" : role, `${personId}@test.example`, now],
    );
  }
  if (clientId !== null && wanted.clientId === undefined) {
    await run(
      `insert into emanet.oauth_clients
         (id, account_id, kind, name, auth_method, grant_types, scopes, role, vault_ids, created_at, updated_at)
       values ($1, $2, 'api', 'Test', 'client_secret', '{client_credentials}', $3, $4, $5, $6, $6)`,
      [clientId, accountId, scopes ?? allScopes, wanted.clientRole ?? "owner", wanted.vaultIds ?? null, now],
    );
  }
  await run(
    `insert into emanet.sessions
       (id, account_id, person_id, client_id, kind, scopes, amr, auth_time, created_at, last_used_at, idle_expires_at)
     values ($1, $2, $3, $4, $5, $6, '{pwd,otp}', $7, $8, $8, $9)`,
    [
      ...[sessionId, accountId, personId, clientId, clientId === null ? kind : (wanted.kind ?? "api"), scopes],
      ...[new Date(now.getTime() - factorAgeMs), now, new Date(now.getTime() + 365 * 24 * 3600 * 1000)],
    ],
  );
  return { accountId, personId: personId ?? clientId, clientId, sessionId };
}

async function makeAccount(service: TestService, wanted: Bearer): Promise<string> {
  const id = randomUUID();
  await storedRows(
    service.database,
    `insert into emanet.accounts
       (id, kind, name, tax_id, package, state, language, state_changed_at, created_at, updated_at)
     values ($1, 'company', 'Test', '1234567808', $2, $3, 'tr', $4, $4, $4)`,
    [id, wanted.package ?? "corporate", wanted.state ?? "active", service.clock.now()],
  );
  return id;
}

const allScopes = [
  ...["snapshots:read", "snapshots:write", "restores:read", "restores:write", "restores:agent", "audit:read"],
  ...["webhooks:read", "webhooks:write", "account:read", "account:write", "taxpayers:read", "taxpayers:write"],
];

/** The access token of a bearer, signed by the service's own key. */
export async function tokenFor(
  service: TestService,
  wanted: Bearer = {},
): Promise<MadeBearer & { auth: { authorization: string } }> {
  const made = await makeBearer(service, wanted);
  const { token } = await service.tokens.issue({
    subject: made.personId ?? made.sessionId,
    sessionId: made.sessionId,
    clientId: "test",
    accountId: made.accountId,
    scopes: wanted.scopes ?? (made.accountId === null ? [] : allScopes),
    amr: ["pwd", "otp"],
    authTime: service.clock.now(),
  });
  return { ...made, auth: { authorization: `Bearer ${token}` } };
}
