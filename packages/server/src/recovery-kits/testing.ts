/** What the tests of recovery kits share. */

import assert from "node:assert/strict";
import { type SnapshotTest, snapshotTest } from "../snapshots/testing.ts";
import type { Cleanup } from "../testing/database.ts";
import type { Sent } from "../testing/running.ts";
import { makeVault } from "../vaults/testing.ts";

export const hourMs = 3_600_000;

type Headers = Readonly<Record<string, string>>;

export interface KitTest extends SnapshotTest {
  readonly vaultId: string;
  call(method: string, path: string, headers?: Headers): Promise<Sent>;
  order(): Promise<string>;
}

export async function kitTest(cleanup: Cleanup): Promise<KitTest> {
  const env = await snapshotTest(cleanup);
  const owner = () => env.as({ role: "owner" });
  const vaultId = await makeVault(env.service, await owner(), "Kasa");
  const call: KitTest["call"] = async (method, path, headers) =>
    env.service.send(method, path, { headers: headers ?? (await owner()) });
  return {
    ...env,
    ...{ vaultId, call },
    async order() {
      const ordered = await call("POST", `/v1/vaults/${vaultId}/recovery-kits`);
      assert.equal(ordered.status, 202, ordered.body.toString());
      return String(ordered.json?.id);
    },
  };
}
