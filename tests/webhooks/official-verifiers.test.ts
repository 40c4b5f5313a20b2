/**
 * The official verifiers of Stripe and of Standard Webhooks (npm, PyPI, Go) accept real deliveries and refuse changed ones. They are installed
 * by `tools/verifiers/install.sh` into .cache, so this runs with `npm run test:heavy` alone.
 */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { webhookTest } from "../../packages/server/src/webhooks/testing/webhook-test.ts";

const isHeavy = scaled(0, 1) === 1;
const run = promisify(execFile);
const root = new URL("../../", import.meta.url).pathname;

interface Question {
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function ask([name = "", ...args]: readonly string[], question: Question): Promise<string> {
  const child = spawn(name, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(question));
  return (await text(child.stdout)).trim();
}

test("six official verifiers accept our deliveries and refuse changed and old ones", { skip: !isHeavy }, async (t) => {
  if (needs(t, "python") === undefined || needs(t, "go") === undefined) return;
  const folder = (await run("bash", ["tools/verifiers/install.sh"], { cwd: root })).stdout.trim();
  const programs = {
    npm: [process.execPath, `${folder}/verify.mjs`],
    PyPI: [`${folder}/python/bin/python`, `${root}tools/verifiers/verify.py`],
    Go: [`${folder}/verify-go`],
  };
  const env = await webhookTest({ after }, { isRealTime: true });
  const account = await env.account();
  const { id, secret } = await account.webhook();
  const { etag = "" } = (await account.call("GET", `/v1/webhooks/${id}`)).headers;
  const rotated = await account.call("POST", `/v1/webhooks/${id}/secret/rotate`, {}, { "if-match": etag });
  const fresh = String(rotated.json?.secret);
  await account.emit(1);
  await env.receiver.has(1);
  const [request] = env.receiver.requests;
  assert.ok(request);
  const body = request.body.toString();
  const headers = Object.fromEntries(
    ["x-service-signature", "webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [
      name,
      String(request.headers[name]),
    ]),
  );
  const old = Math.floor(Date.now() / 1000) - 310;
  const aged = (value = "") => value.replace(/t=\d+/, `t=${old}`);
  const cases: [string, Question, string][] = [
    ["the new secret", { secret: fresh, body, headers }, "accepted accepted"],
    ["the old secret in its grace", { secret, body, headers }, "accepted accepted"],
    ["a changed body", { secret: fresh, body: `${body} `, headers }, "refused refused"],
    ["another secret", { secret: `whsec_${Buffer.alloc(32, 1).toString("base64")}`, body, headers }, "refused refused"],
    [
      "another time",
      {
        ...{ secret: fresh, body },
        headers: {
          ...headers,
          "x-service-signature": aged(headers["x-service-signature"]),
          "webhook-timestamp": String(old),
        },
      },
      "refused refused",
    ],
  ];
  for (const [language, program] of Object.entries(programs)) {
    for (const [name, question, expected] of cases)
      assert.equal(await ask(program, question), expected, `${language}: ${name}`);
  }
});
