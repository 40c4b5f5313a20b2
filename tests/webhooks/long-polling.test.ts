/**
 * A client of long polling behind a proxy that cuts every connection again and again. It goes on after the last number that it has, and misses
 * nothing. `npm run test:heavy` reads 10 000 events while all connections are cut every five seconds.
 */

import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { sendHttp1 } from "../../packages/server/src/testing/https.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { emitEvents } from "../../packages/server/src/webhooks/testing/emit-events.ts";

const wanted = scaled(300, 10_000);
const cutEveryMs = scaled(150, 5_000);
const perCommit = scaled(5, 10);
/** Between two commits, so that connections are cut while events are made. */
const pauseMs = scaled(15, 60);

/** Forwards to a port, and cuts all connections at each interval. */
async function startCuttingProxy(port: number) {
  const open = new Set<Socket>();
  let cuts = 0;
  const server = createServer((socket) => {
    const inner = connect(port, "127.0.0.1");
    for (const one of [socket, inner]) {
      open.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        socket.destroy();
        inner.destroy();
        open.delete(one);
      });
    }
    socket.pipe(inner).pipe(socket);
  });
  const timer = setInterval(() => {
    cuts += open.size > 0 ? 1 : 0;
    for (const socket of open) socket.destroy();
  }, cutEveryMs);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(async () => {
    clearInterval(timer);
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0, cuts: () => cuts };
}

test(`a client whose connections are cut every ${cutEveryMs} ms misses none of ${wanted} events`, async (t) => {
  const service = await startTestService({ after }, { settings: { EMANET_PLANNED_LIMITS: "off" } });
  const { accountId, auth } = await tokenFor(service, { as: "client", kind: "api" });
  const proxy = await startCuttingProxy(Number(new URL(service.url).port));
  const emitting = (async () => {
    for (let made = 0; made < wanted; made += perCommit) {
      await emitEvents(service, accountId, perCommit, { inOneCommit: true });
      await delay(pauseMs);
    }
  })();
  const seen: number[] = [];
  let failures = 0;
  while (seen.length < wanted) {
    const target = `https://127.0.0.1:${proxy.port}/v1/events?after=${seen.at(-1) ?? 0}&wait=25`;
    const answer = await sendHttp1(target, service.ca, { method: "GET", headers: auth }).catch(() => null);
    if (answer === null) {
      failures += 1;
      continue;
    }
    assert.equal(answer.status, 200, answer.body.toString());
    const { data } = JSON.parse(answer.body.toString()) as { data: { sequence: number }[] };
    seen.push(...data.map(({ sequence }) => sequence));
  }
  await emitting;
  assert.deepEqual(
    seen,
    Array.from({ length: wanted }, (_, at) => at + 1),
  );
  assert.ok(proxy.cuts() > 0, "connections were cut");
  t.diagnostic(`${proxy.cuts()} cuts, ${failures} requests failed`);
});
