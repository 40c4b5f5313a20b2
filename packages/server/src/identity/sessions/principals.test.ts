import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TokenClaims } from "../../kernel/principal.ts";
import { principalOf } from "./authenticator.ts";
import type { SubjectRow } from "./subject-store.ts";

const now = new Date("2026-11-15T09:00:00Z");
const later = (ms: number) => new Date(now.getTime() + ms);
const id = (end: string) => `0199c0de-0000-7000-8000-00000000${end}`;
const scopes = ["snapshots:read", "snapshots:write", "account:read"];

const claims: TokenClaims = {
  jti: "1",
  sub: id("aaaa"),
  clientId: "test",
  accountId: id("acc0"),
  sessionId: id("5e55"),
  scopes,
  authTime: now,
  issuedAt: now,
  expiresAt: later(900_000),
};

/** What the database says of a manager who signed in; a case changes what it is about. */
const manager: SubjectRow = {
  account_id: id("acc0"),
  person_id: id("aaaa"),
  client_id: null,
  kind: "api",
  scopes: null,
  auth_time: now,
  amr: ["pwd", "otp"],
  session_ended: false,
  idle_expires_at: later(1),
  expires_at: null,
  person_role: "manager",
  person_state: "active",
  client_scopes: null,
  client_vaults: null,
  client_revoked: null,
  client_role: null,
  in_review: false,
  account_state: "active",
  account_closed_at: null,
  package: "corporate",
  early_access: false,
  entitlements: ["api"],
  api_package: "accountant",
  requests_per_minute: 1500,
  burst: 3000,
  custom_limits: null,
  is_banned: false,
  ban_expires_at: null,
};

const grant: SubjectRow = {
  ...manager,
  client_id: id("c11e"),
  client_scopes: scopes,
  client_role: "owner",
  client_revoked: false,
};

const whoIs = (row: Partial<SubjectRow>, base = grant) => principalOf(claims, { ...base, ...row }, now);

function programOf(row: Partial<SubjectRow>) {
  const principal = whoIs(row);
  assert.equal(principal?.kind, "client");
  return principal?.kind === "client" ? { roles: principal.roles, scopes: [...principal.scopes] } : assert.fail();
}

describe("who a token stands for", () => {
  test("a program is held to its client's role and its member's, and to what session and client may have now", () => {
    assert.deepEqual(programOf({}), { roles: ["owner", "manager"], scopes });
    assert.deepEqual(programOf({ scopes: ["account:read"] }).scopes, ["account:read"]);
    assert.deepEqual(programOf({ client_scopes: ["snapshots:read"] }).scopes, ["snapshots:read"]);
  });

  test("a program in review only writes snapshots, as an operator at most, also when its person is gone", () => {
    for (const person_state of ["active", "removed"]) {
      const held = programOf({ in_review: true, person_state, person_role: "owner" });
      assert.deepEqual(held, { roles: ["owner", "operator"], scopes: ["snapshots:write"] });
    }
    assert.equal(whoIs({ person_state: "removed" }), undefined, "without a review it ends with its person");
    assert.equal(whoIs({ person_state: "removed", in_review: true }, manager), undefined, "a sign-in always does");
  });

  test("no principal: an expired session, a revoked client, another account, staff by a program", () => {
    assert.equal(whoIs({}, manager)?.kind, "member");
    for (const base of [manager, grant]) {
      assert.equal(whoIs({ idle_expires_at: now }, base), undefined);
      assert.equal(whoIs({ expires_at: now }, base), undefined);
      assert.equal(whoIs({ session_ended: true }, base), undefined);
      assert.equal(whoIs({ account_id: id("0000") }, base), undefined);
    }
    assert.equal(whoIs({ client_revoked: true }), undefined);
    assert.equal(whoIs({ person_role: "staff", account_id: null }, manager)?.kind, "staff");
    assert.equal(whoIs({ person_role: "staff", account_id: null }), undefined);
  });

  test("a second factor is as old as the token or the session says, whichever is older", () => {
    const of = (auth_time: Date) => {
      const principal = whoIs({ auth_time }, manager);
      return principal?.kind === "member" ? principal.authTime : assert.fail();
    };
    assert.deepEqual([of(later(60_000)), of(later(-60_000))], [now, later(-60_000)]);
  });
});
