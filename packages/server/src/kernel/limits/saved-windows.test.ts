import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { policies } from "../../declarations.ts";
import { testClock } from "../../testing/clock.ts";
import { silentLog } from "../../testing/database.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { systemRandom } from "../clock.ts";
import { createSecrets } from "../secrets.ts";
import { createMemoryStore } from "./memory-store.ts";
import type { PolicyName } from "./policies.ts";
import { openSavedWindows } from "./saved-windows.ts";
import type { LimitCounter } from "./store.ts";

const secrets = createSecrets(Buffer.alloc(32, 5), systemRandom);

function counter(policy: PolicyName): LimitCounter {
  return { policy, key: "192.0.2.1", rate: policies[policy].rate, mode: "enforce" };
}

test("windows of an hour and a day go on after a restart where they were, and end when they would have", async (t) => {
  const file = path.join(await temporaryFolder(t), "limits.sqlite");
  const clock = testClock();
  const openJournal = () => openSavedWindows({ file, policies, secrets, log: silentLog });
  const open = () => createMemoryStore({ clock, policies, saved: openJournal() });
  const long = ["applications", "sms_hour", "snapshots_create_hour", "restore_create", "audit_export"] as const;
  const first = open();
  for (let count = 0; count < 5; count++) for (const policy of long) void first.decide([counter(policy)], "spend");
  // Not closed: a process that is killed does not either.
  const second = open();
  const remaining = async (policy: PolicyName) =>
    (await second.decide([counter(policy)], "peek")).readings[0]?.remaining;
  assert.deepEqual(await Promise.all(long.map(remaining)), [0, 0, 25, 5, 0]);
  clock.advance(3_600_000);
  assert.deepEqual(await Promise.all(long.map(remaining)), [5, 5, 30, 10, 0]);
  await Promise.all([first.close(), second.close()]);
});

test("a damaged file is put aside and does not stop a start", async (t) => {
  const file = path.join(await temporaryFolder(t), "limits.sqlite");
  await writeFile(file, "this is no database, and long enough to be noticed as such".repeat(200));
  const saved = openSavedWindows({ file, policies, secrets, log: silentLog });
  assert.deepEqual(saved.read(0), []);
  saved.close();
});
