/**
 * Uploads and downloads by the TypeScript client. The operations are those of the tests: their table is made by the generator
 * from a document that has them.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, describe, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { declared } from "../../packages/server/src/declarations.ts";
import { tags } from "../../packages/server/src/endpoints.ts";
import { openapiDocument } from "../../packages/server/src/kernel/http/openapi.ts";
import { startTestService, testToken } from "../../packages/server/src/testing/running.ts";
import { contentBytes, transferEndpoints } from "../../packages/server/src/testing/transfers.ts";
import { bearerToken, createClient, isProblem, type Progress } from "../../sdks/typescript/src/index.ts";
import { type OperationSpec, operation } from "../../sdks/typescript/src/operation.ts";
import { type Document, typescriptClient } from "../../tools/sdk/typescript.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const settings = { EMANET_DRAIN_SECONDS: "0" };
const service = await startTestService({ after }, { extra: transferEndpoints, settings });
setDefaultCACertificates([...getCACertificates("default"), service.ca]);

const document = openapiDocument({ endpoints: transferEndpoints, events: [], tags, version: "0.0.0", declared });
const generated = typescriptClient(document as unknown as Document);
const table = Object.fromEntries(
  [...generated.matchAll(/^ {2}("tests\.\w+"): (\{.*\}),$/gm)].map(([, name = "", spec = ""]) => [
    JSON.parse(name) as string,
    JSON.parse(spec) as OperationSpec,
  ]),
);

const credentials = bearerToken(testToken(account, "client-1", ["account:read", "account:write"]));
const { request } = createClient({ baseUrl: service.url, credentials });

type Params = Readonly<Record<string, unknown>>;
type Called = (params: Params, options?: object) => Promise<Record<string, unknown>>;

function call(name: string): Called {
  const spec = table[`tests.${name}`] ?? assert.fail(`the table lacks ${name}`);
  return operation(spec, request, () => crypto.randomUUID()) as Called;
}

const body = contentBytes(0, 1_500_000);
const sha256 = createHash("sha256").update(body).digest("hex");

function streamOf(bytes: Buffer, pieceBytes = 100_000): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + pieceBytes)));
      at += pieceBytes;
    },
  });
}

describe("uploads", () => {
  test("a stream, a function that makes one, bytes and a blob arrive whole, with their progress", async () => {
    const bodies = [streamOf(body), () => streamOf(body), new Uint8Array(body), new Blob([new Uint8Array(body)])];
    for (const sent of bodies) {
      const progress: Progress[] = [];
      const onProgress = (one: Progress) => void progress.push(one);
      const answer = await call("countUpload")({ body: sent }, { onProgress });
      assert.deepEqual([answer.sha256, answer.media_type], [sha256, "application/x-tar"]);
      assert.equal(progress.findLast(({ direction }) => direction === "up")?.bytes, body.length);
    }
    const zip = await call("countUpload")({ body: "x" }, { contentType: "application/zip" });
    assert.equal(zip.media_type, "application/zip");
  });

  test("JSON and content go to the same operation, each as what it is", async () => {
    assert.deepEqual(await call("takeEither")({ body: { text: "x" } }), { json: "x", bytes: 0 });
    assert.deepEqual(await call("takeEither")({ body: new Uint8Array(body) }), { json: null, bytes: body.length });
    await assert.rejects(call("countUpload")({}), TypeError);
  });

  test("a problem before or in the middle of the body is the error; an aborted upload throws its reason", async () => {
    for (const query of [{ refuse: true }, { after: 200_000 }]) {
      const sent = call("countUpload")({ body: new Uint8Array(body), ...query });
      await assert.rejects(sent, (error) => isProblem(error, "state_conflict"));
    }
    const stop = new AbortController();
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(1000));
        stop.abort(new Error("enough"));
      },
    });
    await assert.rejects(call("countUpload")({ body: endless }, { signal: stop.signal }), /enough/);
  });
});

describe("paths of several parts", () => {
  test("keep their slashes, and any bytes", async () => {
    const path = async (value: string | Uint8Array) => {
      const made = await call("putFile")({ id: "1", path: value, body: "x" });
      return Buffer.from(String(made.path), "base64");
    };
    assert.equal((await path("a b/ş?#%/c")).toString(), "a b/ş?#%/c");
    assert.deepEqual(await path(Uint8Array.of(0x98, 0x2f, 0x00)), Buffer.from([0x98, 0x2f, 0x00]));
    for (const wrong of ["", "..", "a/../b", "./a"]) await assert.rejects(path(wrong), TypeError, wrong);
  });
});

describe("downloads", () => {
  test("give a stream with its length and progress, whole or a part", async () => {
    const progress: Progress[] = [];
    const onProgress = (one: Progress) => void progress.push(one);
    const got = await call("getContent")({ size: body.length }, { onProgress });
    assert.equal(got.sizeBytes, body.length);
    assert.ok(Buffer.from(await (got as { bytes(): Promise<Uint8Array> } & object).bytes()).equals(body));
    assert.deepEqual(progress.at(-1), { direction: "down", bytes: body.length, total: body.length });
    const part = await call("getContent")({ size: body.length }, { headers: { range: "bytes=10-19" } });
    assert.ok(
      Buffer.from(await (part as { bytes(): Promise<Uint8Array> } & object).bytes()).equals(body.subarray(10, 20)),
    );
  });

  test("that break off throw, and one that is canceled ends at the service", async () => {
    const broken = await call("getContent")({ size: body.length, fails: 300_000 });
    await assert.rejects((broken as { bytes(): Promise<Uint8Array> } & object).bytes());
    const canceled = await call("getContent")({ size: 100_000_000 });
    await (canceled.stream as ReadableStream).cancel();
  });
});
