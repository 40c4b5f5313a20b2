/**
 * The receivers of docs/webhooks, each run as it is, against real deliveries: they take them, take each event once, and refuse a changed
 * body, another secret, and times that are more than 300 seconds away on either side.
 */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { createServer } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { needs, type Program } from "../../packages/server/src/testing/needs.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { startForwarder } from "../../packages/server/src/webhooks/testing/tls-forwarder.ts";
import { webhookTest } from "../../packages/server/src/webhooks/testing/webhook-test.ts";

const at = (name: string) => path.resolve(import.meta.dirname, "../../docs/webhooks", name);
const run = promisify(execFile);
const forwarder = await startForwarder({ after });
const env = await webhookTest({ after }, { settings: { EMANET_WEBHOOK_CA_FILE: forwarder.caFile }, isRealTime: true });
const account = await env.account();

interface Language {
  readonly file: string;
  readonly program: Program | null;
  readonly command: (program: string, port: number, folder: string) => Promise<readonly string[]>;
}

const languages: readonly Language[] = [
  { file: "receiver.ts", program: null, command: async () => [process.execPath, at("receiver.ts")] },
  { file: "receiver.py", program: "python", command: async (python) => [python, at("receiver.py")] },
  {
    file: "receiver.go",
    program: "go",
    command: async (go, _port, folder) => {
      const binary = path.join(folder, "receiver");
      // As the S3 server of the tests is built: Go has its own packages compiled then.
      await run(go, ["build", "-trimpath", "-o", binary, at("receiver.go")]);
      return [binary];
    },
  },
  {
    file: "receiver.php",
    program: "php",
    command: async (php, port) => [php, "-S", `127.0.0.1:${port}`, at("receiver.php")],
  },
];

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

function post(port: number, headers: Readonly<Record<string, string>>, body: string) {
  return fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body }).then(({ status }) => status);
}

for (const { file, program, command } of languages) {
  test(`${file} takes real deliveries, each event once, and refuses changed and old ones`, async (t) => {
    const found = program === null ? "" : needs(t, program);
    if (found === undefined) return;
    const { id, secret } = await account.webhook({ url: `${forwarder.url}/hook` });
    const port = await freePort();
    const [name = "", ...args] = await command(found, port, await temporaryFolder({ after }));
    const environment = { ...process.env, EMANET_WEBHOOK_SECRET: secret, PORT: String(port) };
    const child = spawn(name, args, { env: environment, stdio: ["ignore", "pipe", "ignore"] });
    after(() => child.kill("SIGKILL"));
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
    await env.until(async () => (await post(port, {}, "").catch(() => null)) === 400);
    forwarder.target = port;
    await account.emit(3);
    const delivered = await env.until(async () => {
      const rows = await account.deliveries(id, "&status=delivered");
      return rows.length === 3 && rows;
    });
    await env.until(async () => lines.length === 3);
    assert.deepEqual(
      lines,
      delivered.map(({ event_id }) => `snapshot.completed ${event_id}`),
    );
    const [first] = delivered;
    const detail = await account.call("GET", `/v1/webhook-deliveries/${first?.id}`);
    const body = String(detail.json?.body);
    const signed = (seconds: number, key = secret, text = body) => {
      const time = Math.floor(Date.now() / 1000) + seconds;
      const digest = createHmac("sha256", key).update(`${time}.${text}`).digest("hex");
      return { "x-service-signature": `t=${time},v1=${digest}`, "webhook-id": String(first?.event_id) };
    };
    assert.equal(await post(port, signed(0), body), 204);
    assert.equal(await post(port, signed(-290), body), 204);
    assert.equal(await post(port, signed(290), body), 204);
    assert.equal(await post(port, signed(0), `${body} `), 400, "a changed body");
    assert.equal(await post(port, signed(0, "whsec_other"), body), 400, "another secret");
    assert.equal(await post(port, signed(-310), body), 400, "too old");
    assert.equal(await post(port, signed(310), body), 400, "too new");
    assert.equal(await post(port, {}, body), 400, "no signature");
    const rotated = { ...signed(0), "x-service-signature": `${signed(0)["x-service-signature"]},v1=${"0".repeat(64)}` };
    assert.equal(await post(port, rotated, body), 204, "one of two signatures fits");
    await delay(50);
    // PHP has no memory between requests; its users have a table.
    if (file !== "receiver.php") assert.equal(lines.length, 3, "each event is handled once");
    await account.call("DELETE", `/v1/webhooks/${id}`);
  });
}
