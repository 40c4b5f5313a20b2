import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { addStaffMember, rewrapMasterKey } from "./commands.ts";
import { readConfig } from "./config.ts";
import { codeAt } from "./identity/factors/totp.ts";
import { type TestDatabase, testDatabase } from "./testing/database.ts";
import { objectIn } from "./testing/lists.ts";
import { noSignInLimits, readFirstRun, signInAs } from "./testing/people.ts";
import { storedRows } from "./testing/rows.ts";
import { startTestService, type TestService } from "./testing/running.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

/** The test's database as an operator would name it. */
function urlOf({ target }: TestDatabase): string {
  return `postgres://${target.user}@localhost:${target.port}/${target.database}?host=${encodeURIComponent(target.host)}`;
}

async function defaultVaultOf({ database }: TestService, accountId: string): Promise<string> {
  const query = "select id from emanet.vaults where account_id = $1";
  const [vault] = await storedRows<{ id: string }>(database, query, [accountId]);
  return vault?.id ?? assert.fail("no default vault");
}

describe("commands", () => {
  test("rewrap replaces the key file; what was sealed before and vaults open after it, and signing in goes on", async (t) => {
    const kept = { database: await testDatabase(t), dataDir: await temporaryFolder(t) };
    const before = await startTestService(t, { ...kept, settings: noSignInLimits });
    const { demo } = await readFirstRun(kept.dataDir);
    await signInAs(before, demo);
    const vault = await defaultVaultOf(before, demo.account_id);
    await before.running.services?.vaults.open(demo.account_id, vault);
    await before.running.stop();
    const key = () => readFile(path.join(kept.dataDir, "master.key"), "utf8");
    const old = await key();
    const config = readConfig({
      EMANET_PROFILE: "sandbox",
      EMANET_DATA_DIR: kept.dataDir,
      EMANET_LOG_LEVEL: "silent",
      EMANET_DATABASE_URL: urlOf(kept.database),
    });
    assert.match(await rewrapMasterKey(config), /^rewrapped/);
    assert.notEqual(await key(), old);
    const after = await startTestService(t, { ...kept, settings: noSignInLimits, clock: before.clock });
    assert.equal((await signInAs(after, demo)).answer.status, 200);
    await after.running.services?.vaults.open(demo.account_id, vault);
    await after.running.stop();
    const wrong = startTestService(t, { ...kept, settings: { EMANET_MASTER_KEY: old.trim() } });
    await assert.rejects(wrong, { code: "master_key_wrong" });
  });

  test("staff add prints a link with which the person enrols and passes the admin guard", async (t) => {
    const kept = { database: await testDatabase(t), dataDir: await temporaryFolder(t) };
    const config = readConfig({
      EMANET_PROFILE: "sandbox",
      EMANET_DATA_DIR: kept.dataDir,
      EMANET_LOG_LEVEL: "silent",
      EMANET_DATABASE_URL: urlOf(kept.database),
    });
    const email = "yeni.personel@emanet.example";
    const token = /#(enr_[\w-]{43})/.exec(await addStaffMember(config, email, "Yeni Personel"))?.[1] ?? "";
    await assert.rejects(addStaffMember(config, email, "Aynı Adres"), { code: "staff_exists" });
    // The link was made by the machine's own clock; the test's starts elsewhere.
    const service = await startTestService(t, { ...kept, settings: noSignInLimits });
    service.clock.advance(Date.now() - service.clock.now().getTime());
    const begun = await service.send("POST", "/v1/enrolment", { json: { token } });
    const { totp_secret: secret } = objectIn<{ totp_secret: string }>(begun, "totp");
    const password = "gri martı seksen pencere";
    const json = { token, password, totp_code: codeAt(secret, service.clock.now()) };
    assert.equal((await service.send("POST", "/v1/enrolment/complete", { json })).status, 200);
    const { auth } = await signInAs(service, { email, password, totp_secret: secret });
    assert.equal((await service.send("GET", "/v1/admin/overview", { headers: auth })).status, 200);
    await service.running.stop();
  });
});
