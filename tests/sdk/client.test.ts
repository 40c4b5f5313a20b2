/**
 * What the TypeScript client promises about retries, keys, errors, lists, streams and sign-in. The service is the real one; a
 * `fetch` in between loses or replaces single answers.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import {
  bearerToken,
  ConnectionError,
  clientCredentials,
  createClient,
  isProblem,
  OauthError,
  ProblemError,
  type Progress,
  refreshToken,
  UnexpectedAnswerError,
} from "../../sdks/typescript/src/index.ts";
import { clientAs, clientOf, startForClients } from "./connect.ts";

const service = await startForClients({ after });
const { demo } = await readFirstRun(service.dataDir);

/** What happens to one attempt: it goes through, its answer is lost, it is never sent, or it gets another answer. */
type Fate = "through" | "answer lost" | "not sent" | Response;

/** A network with a fate for each attempt, and a record of what was sent and of the waits. */
function network(...fates: readonly Fate[]) {
  const sent: { method: string; path: string; key: string | null; authorization: string | null }[] = [];
  const waits: number[] = [];
  const platform = {
    random: () => 1,
    wait: async (ms: number, signal: AbortSignal | undefined) => {
      signal?.throwIfAborted();
      waits.push(ms);
    },
    fetch: async (url: string | URL | Request, init: RequestInit = {}) => {
      const fate = fates[sent.length] ?? "through";
      const headers = new Headers(init.headers);
      const { pathname: path } = new URL(String(url));
      const [key, authorization] = [headers.get("idempotency-key"), headers.get("authorization")];
      sent.push({ method: init.method ?? "GET", path, key, authorization });
      if (fate === "not sent") throw new TypeError("fetch failed");
      if (fate instanceof Response) return fate;
      const answer = await fetch(url, init);
      if (fate === "through") return answer;
      await answer.arrayBuffer();
      throw new TypeError("terminated");
    },
  };
  return { sent, waits, platform };
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json(
    { type: "about:blank", title: code, status, code, detail: `${code}.`, instance: "urn:x", request_id: "r" },
    { status, headers: { "content-type": "application/problem+json", ...headers } },
  );

async function owner(...fates: readonly Fate[]) {
  const made = await tokenFor(service);
  const net = network(...fates);
  const credentials = bearerToken(made.auth.authorization.slice("Bearer ".length));
  return { ...made, ...net, client: clientOf(service, { credentials, platform: net.platform }) };
}

const body = { name: "Defter", scopes: ["account:read"] } as const;
const clientsOf = async (accountId: string | null) =>
  (await storedRows(service.database, "select id from emanet.oauth_clients where account_id = $1", [accountId])).length;

describe("a POST whose answer is lost", () => {
  test("is repeated with the same key, is done once, and returns the first answer", async () => {
    const { client, sent, accountId } = await owner("answer lost", "answer lost");
    const answer = await client.oauthClients.create.answer({ body });
    assert.equal(sent.length, 3);
    assert.ok(sent[0]?.key);
    assert.deepEqual(new Set(sent.map(({ key }) => key)).size, 1);
    assert.equal(answer.replayed, true);
    assert.equal(answer.status, 201);
    assert.equal(await clientsOf(accountId), 1);
  });

  test("two calls have two keys, and a key of the caller is kept", async () => {
    const { client, sent, accountId } = await owner();
    await client.oauthClients.create({ body });
    await client.oauthClients.create({ body });
    const first = await client.oauthClients.create({ body }, { idempotencyKey: "benim-anahtarim" });
    const again = await client.oauthClients.create({ body }, { idempotencyKey: "benim-anahtarim" });
    assert.equal(again.client.id, first.client.id);
    assert.equal(new Set(sent.map(({ key }) => key)).size, 3);
    assert.equal(await clientsOf(accountId), 3);
  });

  test("without a key it is not sent again: the caller learns that the outcome is not known", async () => {
    const net = network("answer lost");
    const client = clientOf(service, { platform: net.platform });
    const attempt = client.auth.requestPasswordReset({ body: { email: "kimse@ornek.example" } });
    await assert.rejects(attempt, (error) => error instanceof ConnectionError && error.outcomeUnknown);
    assert.equal(net.sent.length, 1);
    assert.equal(net.sent[0]?.key, null);
  });

  test("neither is a PATCH or a DELETE", async () => {
    for (const act of ["update", "delete"] as const) {
      const { client, sent } = await owner("through", "answer lost");
      const { id } = (await client.oauthClients.create({ body })).client;
      const change =
        act === "update" ? client.oauthClients.update({ id, body: { name: "x" } }) : client.oauthClients.delete({ id });
      await assert.rejects(change, ConnectionError);
      assert.equal(sent.length, 2, act);
    }
  });
});

describe("retries", () => {
  test("a GET is repeated after lost connections and passing errors, then succeeds", async () => {
    const { client, sent, waits } = await owner("not sent", refusal(503, "unavailable"), "answer lost");
    assert.ok((await client.account.get()).id);
    assert.equal(sent.length, 4);
    assert.deepEqual(waits, [500, 1000, 2000]);
  });

  test("Retry-After is waited for, in seconds or as a date", async () => {
    const date = new Date(Date.now() + 20_000).toUTCString();
    const { client, waits } = await owner(
      refusal(429, "rate_limited", { "retry-after": "7" }),
      refusal(503, "unavailable", { "retry-after": date }),
    );
    await client.account.get();
    assert.equal(waits[0], 7000);
    assert.ok((waits[1] ?? 0) > 15_000 && (waits[1] ?? 0) <= 20_000, String(waits[1]));
  });

  test("a Retry-After beyond what the client may wait is thrown at once", async () => {
    const { client, sent, waits } = await owner(refusal(429, "rate_limited", { "retry-after": "61" }));
    await assert.rejects(client.account.get(), (error) => isProblem(error, "rate_limited"));
    assert.deepEqual([sent.length, waits.length], [1, 0]);
  });

  test("end after their number, with the last error", async () => {
    const { client, sent } = await owner(...Array.from({ length: 9 }, () => refusal(503, "unavailable")));
    await assert.rejects(client.account.get(), (error) => isProblem(error, "unavailable"));
    assert.equal(sent.length, 4);
    const none = await owner("not sent");
    await assert.rejects(none.client.account.get({}, { retries: { max: 0 } }), ConnectionError);
    assert.equal(none.sent.length, 1);
  });

  test("a first attempt that still runs is waited for with the same key", async () => {
    const { client, sent, accountId } = await owner(refusal(409, "idempotency_in_progress", { "retry-after": "1" }));
    await client.oauthClients.create({ body });
    assert.equal(sent[0]?.key, sent[1]?.key);
    assert.equal(await clientsOf(accountId), 1);
  });

  test("what the caller did wrong is not repeated", async () => {
    const { client, sent } = await owner();
    await assert.rejects(client.members.get({ id: "0199c0de-0000-7000-8000-00000000dead" }), ProblemError);
    assert.equal(sent.length, 1);
  });
});

describe("errors", () => {
  test("a problem has its code, its fields, the id of the request and the language of the client", async () => {
    const client = clientOf(service, { language: "tr" });
    const wrong = { kind: "company" } as unknown as Parameters<typeof client.applications.submit>[0]["body"];
    const error = await client.applications.submit({ body: wrong }).catch((thrown: unknown) => thrown);
    assert.ok(isProblem(error, "validation_failed"));
    assert.equal(error.status, 422);
    assert.ok(error.errors.some(({ pointer }) => pointer === "/email"));
    assert.equal(error.headers.get("content-language"), "tr");
    assert.equal(error.requestId, error.headers.get("x-request-id"));
  });

  test("an error of OAuth is an OauthError, and an answer that is not of the API is no problem", async () => {
    const client = clientOf(service, { credentials: clientCredentials({ clientId: "x", clientSecret: "y" }) });
    await assert.rejects(
      client.account.get(),
      (error) => error instanceof OauthError && error.error === "invalid_client",
    );
    const page = () => new Response("<h1>Not here</h1>", { status: 404, headers: { "content-type": "text/html" } });
    const other = await owner(page());
    await assert.rejects(other.client.account.get(), UnexpectedAnswerError);
  });

  test("a token is sent neither in clear text nor after a redirect", async () => {
    assert.throws(() => createClient({ baseUrl: "http://api.ornek.example" }), TypeError);
    const { client, sent } = await owner(
      new Response(null, { status: 302, headers: { location: "https://elsewhere.invalid/" } }),
    );
    await assert.rejects(client.account.get());
    assert.equal(sent.length, 1);
  });

  test("an id that would name another address is refused before anything is sent", async () => {
    const { client, sent } = await owner();
    for (const id of ["", ".", ".."]) await assert.rejects(client.members.get({ id }), TypeError);
    assert.equal(sent.length, 0);
    await assert.rejects(client.members.get({ id: "../admin/accounts" }), (error) => isProblem(error));
    assert.equal(sent[0]?.path, "/v1/members/..%2Fadmin%2Faccounts");
  });
});

describe("cancellation", () => {
  test("ends a call with the reason of the signal while it waits, and nothing more is sent", async () => {
    const controller = new AbortController();
    const { client, sent, platform } = await owner(refusal(503, "unavailable", { "retry-after": "5" }));
    const reason = new Error("the person left");
    platform.wait = async (_ms, signal) => {
      controller.abort(reason);
      signal?.throwIfAborted();
    };
    const waiting = createClient({ baseUrl: service.url, platform });
    await assert.rejects(waiting.health.live({}, { signal: controller.signal }), reason);
    assert.equal(sent.length, 1);
    await assert.rejects(client.account.get({}, { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(sent.length, 1);
  });

  test("ends a call that is under way", async () => {
    const controller = new AbortController();
    let attempts = 0;
    const client = clientOf(service, {
      platform: {
        fetch: (_url, init) => {
          attempts += 1;
          queueMicrotask(() => controller.abort(new Error("enough")));
          const never = Promise.withResolvers<Response>();
          init?.signal?.addEventListener("abort", () => never.reject(init.signal?.reason));
          return never.promise;
        },
      },
    });
    await assert.rejects(client.health.live({}, { signal: controller.signal }), /enough/);
    assert.equal(attempts, 1);
  });

  test("an attempt that takes too long is a lost connection: it is repeated, then thrown with its cause", async () => {
    const net = network();
    const hanging: typeof fetch = (_url, init) => {
      const never = Promise.withResolvers<Response>();
      init?.signal?.addEventListener("abort", () => never.reject(init.signal?.reason));
      net.sent.push({ method: "GET", path: "", key: null, authorization: null });
      return never.promise;
    };
    const client = clientOf(service, { timeoutMs: 1, platform: { ...net.platform, fetch: hanging } });
    const timedOut = (error: unknown) =>
      error instanceof ConnectionError && error.cause instanceof DOMException && error.cause.name === "TimeoutError";
    await assert.rejects(client.health.live(), timedOut);
    assert.equal(net.sent.length, 4);
  });
});

describe("lists", () => {
  test("all() has every item of every page once, and reads a page only when it is needed", async () => {
    const { client, sent } = await owner();
    const made = new Set<string>();
    for (let at = 0; at < 5; at++) made.add((await client.oauthClients.create({ body })).client.id);
    sent.length = 0;
    const seen: string[] = [];
    for await (const { id } of client.oauthClients.list.all({ limit: 2 })) seen.push(id);
    assert.deepEqual([...seen].sort(), [...made].sort());
    assert.equal(sent.length, 3);
    for await (const { id } of client.oauthClients.list.all({ limit: 2 })) if (made.has(id)) break;
    assert.equal(sent.length, 4);
    const sizes: number[] = [];
    for await (const { data } of client.oauthClients.list.pages({ limit: 2, sort: "created_at" }))
      sizes.push(data.length);
    assert.deepEqual(sizes, [2, 2, 1]);
  });

  test("a page that was lost is read again, and no item is missing or twice", async () => {
    const { client, accountId } = await owner();
    for (let at = 0; at < 3; at++) await client.oauthClients.create({ body });
    const net = network("through", "answer lost", "not sent", "through");
    const { auth } = await tokenFor(service, { accountId: accountId ?? "" });
    const credentials = bearerToken(auth.authorization.slice("Bearer ".length));
    const again = clientOf(service, { credentials, platform: net.platform });
    const seen: string[] = [];
    for await (const { id } of again.oauthClients.list.all({ limit: 2 })) seen.push(id);
    assert.deepEqual([seen.length, new Set(seen).size], [3, 3]);
  });

  test("ifChanged is null for the version that the caller has", async () => {
    const { client } = await owner();
    const { etag } = await client.account.get.answer();
    assert.equal(await client.account.get.ifChanged(etag ?? ""), null);
    const changed = await client.account.update.answer({ body: { name: "Başka" } }, { ifMatch: etag ?? "" });
    const next = await client.account.get.ifChanged(etag ?? "");
    assert.deepEqual([next?.data.name, next?.etag], ["Başka", changed.etag]);
    await assert.rejects(client.account.update({ body: { name: "x" } }, { ifMatch: etag ?? "" }), (error) =>
      isProblem(error, "precondition_failed"),
    );
  });
});

describe("streams", () => {
  const text = JSON.stringify({
    ...{ kind: "company", full_name: "Deniz Örnek", phone: "05321112233", company_name: "Örnek AŞ" },
    ...{ tax_id: "1234567808", package: "starter", consents: { terms: true, privacy: true } },
    email: "akis@ornek.example",
  });
  const stream = () => new Blob([text]).stream();
  const request = { method: "POST", path: "/applications", contentType: "application/json" } as const;

  test("a body that is a stream is sent with progress", async () => {
    const seen: Progress[] = [];
    const client = clientOf(service);
    const { response } = await client.request({ ...request, body: stream(), onProgress: (one) => seen.push(one) });
    assert.equal(((await response.json()) as { status: string }).status, "submitted");
    assert.deepEqual(seen.at(-1), { direction: "up", bytes: Buffer.byteLength(text), total: null });
  });

  test("a stream is not sent twice; a function that makes it is called for each attempt", async () => {
    const once = network("answer lost");
    const key = "akis-bir-kez";
    const lost = clientOf(service, { platform: once.platform }).request({
      ...request,
      body: stream(),
      idempotencyKey: key,
    });
    await assert.rejects(lost, ConnectionError);
    assert.equal(once.sent.length, 1);
    const net = network("answer lost");
    const client = clientOf(service, { platform: net.platform });
    const answer = await client.request({ ...request, body: stream, idempotencyKey: key });
    await answer.response.arrayBuffer();
    assert.deepEqual([net.sent.length, answer.headers.get("idempotency-replayed")], [2, "true"]);
  });

  test("an answer is read as a stream with progress", async () => {
    const seen: Progress[] = [];
    const answer = await clientOf(service).docs.yaml({}, { onProgress: (one) => seen.push(one) });
    let bytes = 0;
    for await (const chunk of answer.stream) bytes += chunk.length;
    assert.ok(bytes > 100_000);
    assert.equal(seen.at(-1)?.bytes, bytes);
    assert.ok(seen.every(({ direction }) => direction === "down"));
  });
});

describe("sign-in", () => {
  const program = { clientId: demo.client_id, clientSecret: demo.client_secret };

  test("a program gets one token for calls at the same time, and uses it until it ends", async () => {
    const net = network();
    const client = clientOf(service, { credentials: clientCredentials(program), platform: net.platform });
    await Promise.all([client.account.get(), client.members.list(), client.account.get()]);
    await client.account.get();
    assert.equal(net.sent.filter(({ path }) => path === "/oauth2/token").length, 1);
    assert.equal(net.sent.length, 5);
  });

  test("a program's request for a token is repeated after a lost connection; a refresh token is never sent twice", async () => {
    const net = network("not sent", "answer lost", refusal(503, "unavailable"));
    const client = clientOf(service, { credentials: clientCredentials(program), platform: net.platform });
    assert.ok((await client.account.get()).id);
    assert.deepEqual(
      net.sent.map(({ path }) => path),
      ["/oauth2/token", "/oauth2/token", "/oauth2/token", "/oauth2/token", "/v1/account"],
    );
    const lost = network("answer lost");
    const credentials = refreshToken({ clientId: "program", refreshToken: "birinci" });
    await assert.rejects(clientOf(service, { credentials, platform: lost.platform }).account.get());
    assert.equal(lost.sent.length, 1);
  });

  test("a token that the service no longer takes is replaced once, and the call goes on", async () => {
    const net = network("through", refusal(401, "token_expired"));
    const client = clientOf(service, { credentials: clientCredentials(program), platform: net.platform });
    assert.ok((await client.account.get()).id);
    assert.deepEqual(
      net.sent.map(({ path }) => path),
      ["/oauth2/token", "/v1/account", "/oauth2/token", "/v1/account"],
    );
    const never = network(
      "through",
      ...Array.from({ length: 8 }, (_, at) => (at % 2 ? ("through" as const) : refusal(401, "invalid_token"))),
    );
    const refused = clientOf(service, { credentials: clientCredentials(program), platform: never.platform });
    await assert.rejects(refused.account.get(), (error) => isProblem(error, "invalid_token"));
    assert.equal(never.sent.filter(({ path }) => path === "/v1/account").length, 2);
  });

  test("a refresh token is used once, also by requests at the same time, and its successor is passed to `onRefresh` first", async () => {
    const handed: string[] = [];
    let uses = 0;
    const tokens = { access_token: "a.b.c", token_type: "Bearer", expires_in: 900, scope: "", refresh_token: "ikinci" };
    const credentials = refreshToken({
      clientId: "program",
      refreshToken: "birinci",
      onRefresh: async (next) => void handed.push(next),
    });
    const client = createClient({
      baseUrl: service.url,
      credentials,
      platform: {
        fetch: async (url, init) => {
          if (!String(url).endsWith("/oauth2/token")) {
            assert.deepEqual(handed, ["ikinci"]);
            return Response.json({ id: "x" });
          }
          uses += 1;
          assert.match(String(init?.body), /refresh_token=birinci/);
          return Response.json(tokens);
        },
      },
    });
    await Promise.all([client.account.get(), client.account.get(), client.me.get()]);
    assert.deepEqual([uses, handed], [1, ["ikinci"]]);
  });

  test("one caller who leaves does not take the token from the others", async () => {
    const controller = new AbortController();
    const gate = Promise.withResolvers<void>();
    const net = network();
    const client = clientOf(service, {
      credentials: clientCredentials(program),
      platform: {
        ...net.platform,
        fetch: async (url, init) => {
          if (String(url).endsWith("/oauth2/token")) await gate.promise;
          return net.platform.fetch(url as string, init);
        },
      },
    });
    const leaving = client.account.get({}, { signal: controller.signal });
    const staying = client.account.get();
    controller.abort(new Error("left"));
    await assert.rejects(leaving, /left/);
    gate.resolve();
    assert.ok((await staying).id);
  });

  test("public operations are called without the token", async () => {
    const { client, sent } = await owner();
    await client.health.live();
    assert.equal(sent[0]?.authorization, null);
    const { client: other } = await clientAs(service);
    assert.ok((await other.account.get()).id);
  });
});
