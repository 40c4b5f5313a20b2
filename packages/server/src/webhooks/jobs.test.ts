import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { storedRows } from "../testing/rows.ts";
import { startTestService } from "../testing/running.ts";
import { emitEvents } from "./testing/emit-events.ts";

const dayMs = 24 * 60 * 60 * 1000;

test("events are removed after thirty days, and who asks for them is told", async () => {
  const service = await startTestService({ after });
  const { accountId } = await tokenFor(service, { as: "client", kind: "api" });
  await emitEvents(service, accountId, 2);
  service.clock.advance(29 * dayMs);
  await emitEvents(service, accountId, 1);
  const kept = () =>
    storedRows<{ sequence: number }>(service.database, "select sequence from emanet.events order by 1");
  service.clock.advance(dayMs + 3_600_000);
  let rows = await kept();
  while (rows.length === 3) rows = await kept();
  assert.deepEqual(rows, [{ sequence: 3 }]);
  const { auth } = await tokenFor(service, { as: "client", kind: "api", accountId: accountId ?? "" });
  const answer = await service.send("GET", "/v1/events?after=0", { headers: auth });
  assert.deepEqual([answer.status, answer.json?.code], [410, "events_expired"]);
});
