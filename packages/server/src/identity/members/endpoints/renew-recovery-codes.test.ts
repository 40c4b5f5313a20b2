import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn } from "../../../testing/lists.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

test("new recovery codes replace the old ones; each is good once", async () => {
  const { auth } = await signInAs(service, demo);
  const renew = async () =>
    listIn<string>(await service.send("POST", "/v1/me/recovery-codes", { headers: auth }), "recovery_codes");
  const [old = ""] = await renew();
  const [fresh = ""] = await renew();
  const login = async (totp_code: string) => {
    const json = { email: demo.email, password: demo.password, totp_code };
    return (await service.send("POST", "/v1/auth/login", { json })).status;
  };
  assert.deepEqual([await login(old), await login(fresh), await login(fresh)], [401, 200, 401]);
});
