// long: 20 s

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { testDatabase } from "../../packages/server/src/testing/database.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { cases } from "./cases.ts";
import { openClients, sendAll } from "./clients.ts";
import { startService } from "./measured-service.ts";
import { readMemory, stopProgram } from "./processes.ts";

/** Requests before the first reading, which load, compile and cache; and as many between the readings. */
const requests = scaled(2_000, 100_000);

/** What compiled code and caches may add between the readings. */
const mostGrowthBytes = 2 * 2 ** 20;
const mostBytesPerRequest = mostGrowthBytes / requests;

/** What the heap of a service grows by with a request, after garbage was collected. */
async function growthPerRequest(context: TestContext, leakBytes: number): Promise<number> {
  const { target } = await testDatabase(context);
  const service = await startService(target, await temporaryFolder(context), { leakBytes });
  context.after(() => stopProgram(service.program));
  const kinds = cases.filter(({ server }) => server === "service");
  const sendSome = async () => {
    const subject = { token: await service.newToken(), noteId: service.noteId };
    for (const protocol of ["http/1.1", "h2"] as const) {
      const clients = await openClients(protocol, service.url, service.ca, 8);
      for (const kind of kinds) {
        await sendAll(clients, requests / kinds.length / 2, kind.status, kind.request(subject));
      }
      for (const client of clients) client.close();
    }
    return (await readMemory(service.program)).heapMib * 2 ** 20;
  };
  const before = await sendSome();
  return ((await sendSome()) - before) / requests;
}

describe("memory of the service", () => {
  test("nothing is kept of the requests that were answered, over HTTP/1.1 and HTTP/2", async (context) => {
    const bytes = await growthPerRequest(context, 0);
    assert.ok(bytes < mostBytesPerRequest, `${Math.round(bytes)} bytes are kept of each request`);
  });

  test("a service that keeps some bytes of each request would be found", async (context) => {
    const planted = 3 * mostBytesPerRequest;
    const bytes = await growthPerRequest(context, planted);
    assert.ok(bytes > mostBytesPerRequest, `only ${Math.round(bytes)} of ${planted} bytes were found`);
  });
});
