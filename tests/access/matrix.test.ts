/**
 * Every operation of the OpenAPI document × every kind of caller that must be refused. The operations come from the
 * document, so a new endpoint is included, and one that does not declare who may call it fails. `other-accounts.test.ts`
 * tests objects of other accounts.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { apiDocument } from "../../packages/server/src/endpoints.ts";
import { type Bearer, tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { noSignInLimits } from "../../packages/server/src/testing/people.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";

interface Operation {
  readonly operationId: string;
  readonly "x-access"?: "public" | "account" | "person" | "staff" | "share";
  readonly "x-scope"?: string;
  readonly "x-roles"?: readonly string[];
  /** Open to every role on the service's own pages; roles and scopes bind the other tokens. */
  readonly "x-dashboard"?: "every_role";
  readonly "x-entitlement"?: string;
  readonly "x-refused-while-suspended"?: boolean;
  readonly "x-step-up"?: boolean;
  readonly "x-within-vaults"?: boolean;
}

interface Row extends Operation {
  readonly method: string;
  readonly path: string;
}

/** The limits have tests of their own. */
const noLimits = { ...noSignInLimits, EMANET_LIMIT_PACKAGE: "1000000/60", EMANET_LIMIT_TOKEN: "1000000/60" };

const service = await startTestService({ after }, { settings: noLimits });
const document = apiDocument({ complete: true }) as unknown as {
  paths: Record<string, Record<string, Operation>>;
};
const operations: readonly Row[] = Object.entries(document.paths).flatMap(([place, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path: place })),
);
const roles = ["owner", "manager", "operator", "viewer", "auditor"];
const unknownId = "0199c0de-0000-7000-8000-00000000dead";

/** One caller of each kind, until it changes something: making a caller takes longer than its call. */
const callers = new Map<string, ReturnType<typeof tokenFor>>();

function callerOf(bearer: Bearer): ReturnType<typeof tokenFor> {
  const kind = JSON.stringify(bearer);
  const caller = callers.get(kind) ?? tokenFor(service, bearer);
  callers.set(kind, caller);
  return caller;
}

/** The status and code for a caller of this kind. The service never reads the body before it has decided access. */
async function call(row: Row, bearer: Bearer | null): Promise<string> {
  const auth = bearer === null ? {} : (await callerOf(bearer)).auth;
  const target = row.path.replaceAll(/\{\w+\}/g, unknownId);
  const answer = await service.send(row.method, target, { headers: auth });
  // A caller that is not known any more would seem to pass everywhere.
  if (bearer !== null) assert.notEqual(answer.status, 401, `${row.operationId} ${JSON.stringify(bearer)}`);
  if (answer.status < 400 && row.method !== "GET") callers.delete(JSON.stringify(bearer));
  return `${answer.status} ${answer.json?.code ?? ""}`;
}

function of(...kinds: readonly (string | undefined)[]): readonly Row[] {
  return operations.filter((row) => kinds.includes(row["x-access"]));
}

describe("every operation of the document", () => {
  test("declares who may call it, and with which scope", () => {
    assert.ok(operations.length > 40, String(operations.length));
    for (const row of operations) {
      assert.ok(row["x-access"], `${row.operationId} does not declare who may call it`);
      const scoped = row["x-access"] === "account" || row["x-access"] === "person";
      assert.equal(row["x-scope"] !== undefined, scoped, `${row.operationId}: scope`);
      assert.equal(row["x-roles"] !== undefined, row["x-access"] === "account", `${row.operationId}: roles`);
      if (row.path.startsWith("/v1/admin/")) assert.equal(row["x-access"], "staff", row.operationId);
    }
  });

  test("is public only if it is in the contract's list of public paths", () => {
    const open =
      /^\/(v1\/auth\/(login|refresh|logout|password-reset)|auth\/sms-otp|applications|v1\/applications\/withdraw|v1\/enrolment|v1\/downloads|enrol|reset-password|withdraw|docs|oauth2|\.well-known|health|app|assets)(\/|$)/;
    // The dashboard's page is the same for all; it is at `/` too.
    for (const row of of("public")) if (row.path !== "/") assert.match(row.path, open, row.operationId);
  });

  test("401: without a token every operation that is not public is refused", async () => {
    for (const row of of("account", "person", "staff", "share"))
      assert.equal(await call(row, null), "401 missing_token", row.operationId);
  });

  test("401: where a share is asked for, the access token of anybody is none", async () => {
    assert.ok(of("share").length >= 2);
    for (const row of of("share")) {
      for (const bearer of [{}, { as: "client" }, { as: "staff" }] as const) {
        const { auth } = await callerOf(bearer);
        const answer = await service.send(row.method, row.path, { headers: auth });
        assert.deepEqual([answer.status, answer.json?.code], [401, "invalid_token"], row.operationId);
      }
    }
  });

  test("403: a token without the scope", async () => {
    for (const row of of("account", "person")) {
      const other = row["x-scope"] === "audit:read" ? "snapshots:read" : "audit:read";
      const kind = row["x-dashboard"] === undefined ? {} : { kind: "api" as const };
      assert.equal(await call(row, { scopes: [other], ...kind }), "403 insufficient_scope", row.operationId);
    }
  });

  test("403: each role that the operation does not name; roles that it names pass", async () => {
    for (const row of of("account")) {
      for (const role of roles) {
        const kind = row["x-dashboard"] === undefined ? {} : { kind: "api" as const };
        const answer = await call(row, { role, ...kind });
        const refused = answer === "403 insufficient_role";
        assert.equal(refused, !row["x-roles"]?.includes(role), `${row.operationId} ${role}: ${answer}`);
      }
    }
  });

  test("what is open to the service's own pages is open there to every role, and to no program", async () => {
    const rows = of("account").filter((row) => row["x-dashboard"] === "every_role");
    assert.deepEqual(
      rows.map(({ operationId }) => operationId),
      ["events.list", "event_types.list"],
    );
    for (const row of rows) {
      for (const role of roles)
        assert.match(await call(row, { role, scopes: ["account:read"] }), /^200 /, row.operationId);
      const program = { as: "grant", kind: "dashboard", scopes: ["account:read"] } as const;
      assert.equal(await call(row, program), "403 insufficient_scope", row.operationId);
    }
  });

  test("403: a program needs the right in its own role and in the role of the member for whom it acts", async () => {
    for (const row of of("account").filter((each) => each["x-step-up"] !== true)) {
      for (const role of roles) {
        const allowed = row["x-roles"]?.includes(role) === true;
        const bearers: Bearer[] = [
          { as: "client", clientRole: role },
          { as: "grant", clientRole: role, role: "owner" },
          { as: "grant", clientRole: "owner", role },
        ];
        for (const bearer of bearers) {
          const answer = await call(row, bearer);
          const which = `${row.operationId} ${JSON.stringify(bearer)}: ${answer}`;
          assert.equal(answer === "403 insufficient_role", !allowed, which);
        }
      }
    }
  });

  test("403: a program that is limited to vaults passes only where the operation checks vaults", async () => {
    for (const row of of("account", "person")) {
      for (const as of ["client", "grant"] as const) {
        const answer = await call(row, { as, vaultIds: [unknownId] });
        const refused = answer === "403 insufficient_scope";
        assert.equal(refused, row["x-within-vaults"] !== true, `${row.operationId} ${as}: ${answer}`);
      }
    }
  });

  test("403: a package without the API, for tokens of kind api; tokens of the dashboard and the agent pass", async () => {
    for (const row of of("account")) {
      const gated = row["x-entitlement"] === "api";
      for (const kind of ["api", "dashboard", "agent"] as const) {
        const answer = await call(row, { package: "starter", kind });
        assert.equal(
          answer === "403 package_required",
          gated && kind === "api",
          `${row.operationId} ${kind}: ${answer}`,
        );
      }
    }
  });

  test("403: a suspended or closed account can read, and can write only where the operation declares it", async () => {
    for (const row of of("account")) {
      for (const state of ["suspended", "closed"] as const) {
        const answer = await call(row, { state });
        const refused = answer === "403 account_suspended";
        assert.equal(refused, row["x-refused-while-suspended"] === true, `${row.operationId} ${state}: ${answer}`);
        if (row.method === "GET") assert.equal(refused, false, row.operationId);
      }
    }
  });

  test("403: staff cannot act as members, members cannot act as staff, and clients cannot act as people", async () => {
    for (const row of of("account"))
      assert.equal(await call(row, { as: "staff" }), "403 member_required", row.operationId);
    for (const row of of("staff")) {
      for (const as of ["member", "client", "grant"] as const)
        assert.equal(await call(row, { as }), "403 admin_required", row.operationId);
    }
    for (const row of of("person")) {
      for (const as of ["client", "grant"] as const)
        assert.equal(await call(row, { as }), "403 insufficient_scope", `${row.operationId} ${as}`);
    }
  });

  test("403: an operation that needs a fresh second factor refuses an old one and refuses programs", async () => {
    const asking = operations.filter((row) => row["x-step-up"]);
    assert.ok(asking.length >= 10);
    const names = asking.map((row) => row.operationId);
    const forPeople =
      /^(members\.(invite|resend_invitation|update|remove|erase|decide_second_factor_reset)|oauth_clients\.(create|update|delete|rotate_secret|review)|oauth_grants\.(review|end)|agents\.delete|vaults\.(create|update)|sources\.(update|set_writers)|audit_shares\.(create|revoke)|snapshots\.(delete|undelete))$/;
    for (const row of operations.filter((each) => forPeople.test(each.operationId)))
      assert.ok(names.includes(row.operationId), `${row.operationId} must need a person with a fresh second factor`);
    for (const row of asking) {
      const as = row["x-access"] === "staff" ? "staff" : "member";
      assert.equal(await call(row, { as, factorAgeMs: 601_000 }), "403 step_up_required", row.operationId);
      if (as === "staff") continue;
      // A program is not a person, also when it acts for an owner with a fresh second factor.
      for (const program of ["client", "grant"] as const)
        assert.equal(await call(row, { as: program }), "403 insufficient_scope", `${row.operationId} ${program}`);
    }
  });
});
