import assert from "node:assert/strict";
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { after, describe, type TestContext, test } from "node:test";
import { startTestService, testToken } from "../../testing/running.ts";
import { transferEndpoints } from "../../testing/transfers.ts";
import { Problem } from "../problems.ts";
import {
  leastTransferBytes,
  mostTransferBytes,
  retryTransferSeconds,
  Transfers,
  transferBytesInAll,
  transferBytesPerAccount,
} from "./transfers.ts";

const refusal = (begin: () => unknown): string => {
  try {
    begin();
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
  return "begun";
};

describe("bytes in flight", () => {
  const perAccount = transferBytesPerAccount / mostTransferBytes;

  test("are bound per account by what a transfer can hold, not by its size", () => {
    const transfers = new Transfers();
    for (let at = 0; at < perAccount; at++) transfers.begin("a", at % 2 === 0 ? null : 1e12);
    assert.equal(
      refusal(() => transfers.begin("a", 1)),
      "rate_limited",
    );
    assert.equal(
      refusal(() => transfers.begin("b", null)),
      "begun",
    );
    const small = new Transfers();
    for (let at = 0; at < transferBytesPerAccount / leastTransferBytes; at++) small.begin("a", 0);
    assert.equal(
      refusal(() => small.begin("a", 0)),
      "rate_limited",
    );
  });

  test("are bound in all", () => {
    const transfers = new Transfers();
    for (let at = 0; at < transferBytesInAll / mostTransferBytes; at++) {
      transfers.begin(`account ${Math.floor(at / perAccount)}`, null);
    }
    assert.equal(
      refusal(() => transfers.begin("another", 0)),
      "unavailable",
    );
  });

  test("are free again at the end of a transfer, once", () => {
    const transfers = new Transfers();
    const ends = Array.from({ length: perAccount }, () => transfers.begin("a", null));
    ends[0]?.();
    ends[0]?.();
    assert.equal(
      refusal(() => transfers.begin("a", null)),
      "begun",
    );
    assert.equal(
      refusal(() => transfers.begin("a", null)),
      "rate_limited",
    );
    for (const end of ends) end();
    assert.equal(transfers.bytes, mostTransferBytes);
  });
});

const accounts = ["0199c0de-0000-7000-8000-0000000000aa", "0199c0de-0000-7000-8000-0000000000bb"] as const;
const tokenOf = (account: string) => `Bearer ${testToken(account, "c", ["account:read", "account:write"])}`;
const service = await startTestService(
  { after },
  { extra: transferEndpoints, settings: { EMANET_DRAIN_SECONDS: "0" } },
);

function connect(t: TestContext): ClientHttp2Session {
  const session = http2.connect(service.url, { ca: service.ca });
  session.on("error", () => undefined);
  t.after(() => session.destroy());
  return session;
}

/** Begins a download that is not read. */
function begin(session: ClientHttp2Session, account: string, size: number): Promise<ClientHttp2Stream> {
  const stream = session.request({ ":path": `/v1/test-content?size=${size}`, authorization: tokenOf(account) });
  stream.on("error", () => undefined);
  return new Promise((resolve) => stream.once("response", () => resolve(stream)));
}

test("downloads that nobody reads use up their own account's bytes; others and other operations are served", async (t) => {
  const session = connect(t);
  const [own, other] = accounts;
  const streams: ClientHttp2Stream[] = [];
  // Larger than all buffers on the way.
  for (let at = 0; at < transferBytesPerAccount / mostTransferBytes; at++) {
    streams.push(await begin(session, own, 100_000_000));
  }
  const headers = { authorization: tokenOf(own) };
  for (const [method, path, body] of [
    ["GET", "/v1/test-content?size=10", undefined],
    ["POST", "/v1/test-uploads", "x"],
  ] as const) {
    const refused = await service.send(method, path, { headers, ...(body && { body }) });
    assert.deepEqual([refused.status, refused.json?.code], [429, "rate_limited"]);
    assert.equal(refused.headers["retry-after"], String(retryTransferSeconds));
    assert.equal(refused.json?.policy, "bytes_in_flight");
  }
  assert.equal((await service.send("HEAD", "/v1/test-content?size=10", { headers })).status, 200);
  assert.equal((await service.send("GET", "/v1/test-files/1/files/a", { headers })).status, 200);
  const theirs = { authorization: tokenOf(other) };
  assert.equal((await service.send("GET", "/v1/test-content?size=10", { headers: theirs })).status, 200);
  for (const stream of streams) stream.close(http2.constants.NGHTTP2_CANCEL);
  for (;;) {
    const { status } = await service.send("GET", "/v1/test-content?size=10", { headers });
    if (status === 200) break;
    assert.equal(status, 429);
  }
});

test("content spends no tokens of the package, and says what is left of them", async () => {
  const headers = { authorization: tokenOf("0199c0de-0000-7000-8000-0000000000cc") };
  const left = async (method: string, path: string) =>
    Number((await service.send(method, path, { headers })).headers["x-ratelimit-remaining"]);
  const before = await left("GET", "/v1/test-files/1/files/a");
  for (const path of ["/v1/test-content?size=1", "/v1/test-files/1/files/a"]) {
    assert.equal(await left("GET", path), before, path);
  }
  assert.equal(await left("POST", "/v1/test-uploads"), before);
  assert.equal(await left("POST", "/v1/test-either"), before - 1, "what is not only content counts");
});
