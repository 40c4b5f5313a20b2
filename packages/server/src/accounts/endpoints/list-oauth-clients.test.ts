import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startTestService } from "../../testing/running.ts";
import { isGoodSecret, makeClient } from "../testing.ts";

const service = await startTestService({ after });

test("the account's programs, newest first, with the last use of each; none of others, none that is removed", async () => {
  const { auth } = await tokenFor(service);
  await makeClient(service, (await tokenFor(service)).auth);
  const old = await makeClient(service, auth, { name: "Eski" });
  service.clock.advance(1_000);
  const fresh = await makeClient(service, auth, { name: "Yeni" });
  service.clock.advance(1_000);
  const removed = await makeClient(service, auth, { name: "Giden" });
  await service.send("DELETE", removed.target, { headers: auth });
  assert.ok(await isGoodSecret(service, old.client.id, old.secret));
  const list = await service.send("GET", "/v1/oauth-clients", { headers: auth });
  const shown = listIn<{ id: string; last_used_at: string | null }>(list, "data");
  assert.deepEqual(
    shown.map(({ id, last_used_at: used }) => [id, used !== null]),
    [
      [fresh.client.id, false],
      [old.client.id, true],
    ],
  );
});
