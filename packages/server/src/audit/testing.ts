/** Shared by the tests of the audit trail: an account with some records, exports, and the verifier. */

import assert from "node:assert/strict";
import { tokenFor } from "../testing/accounts.ts";
import type { Cleanup } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import { type Sent, startTestService, type TestService } from "../testing/running.ts";
import { until } from "../testing/until.ts";

export interface AuditTest {
  readonly service: TestService;
  readonly accountId: string;
  readonly auth: { readonly authorization: string };
  /** A token that is valid at the present time of the clock. */
  signIn(): Promise<{ readonly authorization: string }>;
  /** Makes so many records in the account's chain, a second apart. */
  act(count: number): Promise<void>;
  get(target: string, headers?: Readonly<Record<string, string>>): Promise<Sent>;
  /** A new share of the account. */
  share(wanted?: object): Promise<MadeShare>;
  /** Asks again until it is not null. */
  until<T>(ask: () => Promise<T | null>): Promise<T>;
  rows<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

const unlimited = {
  EMANET_LIMIT_AUDIT_EXPORT: "10000/60",
  EMANET_LIMIT_AUDIT_SHARED_EXPORT: "10000/60",
  EMANET_LIMIT_AUDIT_SHARED_EVENTS: "10000/60",
};

/** A share, and what an auditor does with it. */
export interface MadeShare {
  readonly id: string;
  readonly token: string;
  read(target: string, headers?: Readonly<Record<string, string>>): Promise<Sent>;
}

export async function auditTest(
  cleanup: Cleanup,
  settings: Readonly<Record<string, string>> = unlimited,
): Promise<AuditTest> {
  const service = await startTestService(cleanup, { settings });
  const owner = await tokenFor(service);
  const { auth } = owner;
  /** Another token of the same person: tests move the clock further than a token lasts. */
  const signIn = async () =>
    (await tokenFor(service, { accountId: owner.accountId ?? "", personId: owner.personId ?? "" })).auth;
  return {
    ...{ service, auth, signIn },
    accountId: owner.accountId ?? assert.fail("no account"),
    async act(count) {
      for (let i = 0; i < count; i++) {
        const answer = await service.send("PATCH", "/v1/account", {
          json: { name: `Ad ${i}` },
          headers: await signIn(),
        });
        assert.equal(answer.status, 200, answer.body.toString());
        service.clock.advance(1000);
      }
    },
    get: async (target, headers = {}) => service.send("GET", target, { headers: { ...(await signIn()), ...headers } }),
    async share(wanted = {}) {
      const json = { label: "Denetim", ...wanted };
      const made = await service.send("POST", "/v1/audit/shares", { json, headers: await signIn() });
      assert.equal(made.status, 201, made.body.toString());
      const token = String(made.json?.token);
      const read = (target: string, headers = {}) =>
        service.send("GET", `/v1/audit/shared/${target}`, {
          headers: { authorization: `Bearer ${token}`, ...headers },
        });
      return { id: String(made.json?.id), token, read };
    },
    until,
    rows: (text, values) => storedRows(service.database, text, values),
  };
}
