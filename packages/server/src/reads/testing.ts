/** A client of the read protocol, for tests: it knows the address of a service and a token, and nothing of the vault. */

import assert from "node:assert/strict";
import { ObjectStoreError, type ReadCalls } from "@emanet/engine";
import type { TestService } from "../testing/running.ts";

type Headers = Readonly<Record<string, string>>;

export function readCalls(service: TestService, id: string, headers: Headers): ReadCalls {
  return {
    async call(operation, request) {
      const answer = await service.send("POST", `/v1/snapshots/${id}/read/${operation}`, {
        ...{ body: request, headers: { ...headers, "content-type": "application/vnd.emanet.read" } },
      });
      assert.equal(answer.status, 200, answer.body.toString());
      return answer.body;
    },
    async readPack(pack, { offset, length }) {
      const range = `bytes=${offset}-${offset + length - 1}`;
      const answer = await service.send("GET", `/v1/snapshots/${id}/packs/${pack}`, { headers: { ...headers, range } });
      if (answer.status === 404) throw new ObjectStoreError("not_found", "gone");
      assert.equal(answer.status, 206, answer.body.toString());
      return answer.body;
    },
  };
}
