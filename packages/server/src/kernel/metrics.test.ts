import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Histogram, Registry } from "prom-client";
import { silentLog } from "./log.ts";
import { createMetrics, type Metrics, startMetricsListener } from "./metrics.ts";

const listen = { host: "127.0.0.1", port: 0 };

async function series(metrics: Metrics, name: string): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split("\n").filter((line) => line.startsWith(name));
}

function make(): Metrics {
  return createMetrics({ version: "0.1.0", role: "all" });
}

describe("metrics", () => {
  test("two instances in one process count separately", async () => {
    const [first, second] = [make(), make()];
    first.requestStarted();
    assert.deepEqual(await series(first, "emanet_http_requests_in_flight"), ["emanet_http_requests_in_flight 1"]);
    assert.deepEqual(await series(second, "emanet_http_requests_in_flight"), ["emanet_http_requests_in_flight 0"]);
  });

  test("a request is counted by operation, method and status class, and leaves the flight", async () => {
    const metrics = make();
    metrics.requestStarted();
    metrics.requestFinished({ operation: "applications.create", method: "POST", status: 202, durationMs: 30 });
    assert.deepEqual(await series(metrics, "emanet_http_requests_in_flight"), ["emanet_http_requests_in_flight 0"]);
    assert.deepEqual(await series(metrics, "emanet_http_request_duration_seconds_count"), [
      'emanet_http_request_duration_seconds_count{operation="applications.create",method="POST",status_class="2xx"} 1',
    ]);
    const sum = await series(metrics, "emanet_http_request_duration_seconds_sum");
    assert.match(sum[0] ?? "", / 0\.03$/);
  });

  test("paths, odd methods and statuses are counted as other, a missing operation as none", async () => {
    const metrics = make();
    const odd = { method: "ADA /x", status: 999, durationMs: 1 };
    metrics.requestFinished({ operation: "/v1/files/ada@example.invalid", ...odd });
    metrics.requestFinished({ operation: null, ...odd });
    assert.deepEqual(await series(metrics, "emanet_http_request_duration_seconds_count"), [
      'emanet_http_request_duration_seconds_count{operation="other",method="other",status_class="other"} 1',
      'emanet_http_request_duration_seconds_count{operation="none",method="other",status_class="other"} 1',
    ]);
  });

  test("the histogram of requests says what prom-client's own would, at and beside every bound", async () => {
    const metrics = make();
    const name = "emanet_http_request_duration_seconds";
    const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
    const registry = new Registry();
    const labelNames = ["operation", "method", "status_class"];
    const help = "Time from a request's head to the end of its answer.";
    const own = new Histogram({ name, help, labelNames, buckets: bounds, registers: [registry] });
    for (const durationMs of bounds.flatMap((bound) => [bound * 1000 - 1, bound * 1000, bound * 1000 + 1])) {
      for (const { method, status } of [
        { method: "GET", status: 200 },
        { method: "POST", status: 404 },
      ]) {
        metrics.requestFinished({ operation: "notes.get", method, status, durationMs });
        const labels = { operation: "notes.get", method, status_class: `${Math.floor(status / 100)}xx` };
        own.observe(labels, durationMs / 1000);
      }
    }
    const expected = (await registry.metrics()).split("\n").filter((line) => line.includes(name));
    const shown = (await metrics.registry.metrics()).split("\n").filter((line) => line.includes(name));
    assert.deepEqual(shown, expected);
    assert.ok(shown.length > 2 * bounds.length);
  });

  test("decisions of limits are counted once, however often they are read", async () => {
    const metrics = make();
    metrics.limitDecided("anonymous", "allowed");
    metrics.limitDecided("anonymous", "allowed");
    metrics.limitDecided("anonymous", "denied");
    for (let scrapes = 0; scrapes < 2; scrapes++) {
      assert.deepEqual(await series(metrics, "emanet_limit_decisions_total"), [
        'emanet_limit_decisions_total{policy="anonymous",outcome="allowed"} 2',
        'emanet_limit_decisions_total{policy="anonymous",outcome="denied"} 1',
      ]);
    }
  });

  test("the number of names is bounded", async () => {
    const metrics = make();
    for (let index = 0; index < 400; index += 1) {
      metrics.jobFinished({ task: `made.up_${index}`, outcome: "done", durationMs: 1 });
    }
    const counts = await series(metrics, "emanet_job_duration_seconds_count");
    assert.equal(counts.length, 301);
    assert.ok(counts.includes('emanet_job_duration_seconds_count{task="other",outcome="done"} 100'));
  });

  test("pools and jobs are read at every scrape, and a failing reader hides nothing else", async () => {
    const metrics = make();
    const pool = { total: 1, idle: 1, waiting: 0, backgroundWaiting: 0 };
    metrics.watchPool("app", () => pool);
    let failing = false;
    metrics.watchJobs(async () =>
      failing ? assert.fail("database away") : { scheduled: 1, queued: 2, running: 3, failed: 4 },
    );
    pool.waiting = 7;
    pool.backgroundWaiting = 9;
    const waiting = (await series(metrics, "emanet_database_connections")).slice(-2);
    assert.deepEqual(
      waiting.map((line) => line.split("state=")[1]),
      ['"waiting"} 7', '"background_waiting"} 9'],
    );
    assert.equal((await series(metrics, "emanet_jobs")).length, 4);
    failing = true;
    assert.equal((await series(metrics, "emanet_jobs")).length, 0);
    assert.equal((await series(metrics, "emanet_build_info")).length, 1);
  });

  test("process metrics and the build are there", async () => {
    const metrics = make();
    assert.equal((await series(metrics, "process_resident_memory_bytes")).length, 1);
    assert.match((await series(metrics, "emanet_build_info"))[0] ?? "", /version="0\.1\.0",role="all",node="v\d/);
  });
});

describe("the metrics listener", async () => {
  const metrics = make();
  const listener = await startMetricsListener({ listen, registry: metrics.registry, log: silentLog });
  after(() => listener.close());
  const base = `http://127.0.0.1:${listener.address.port}`;

  test("GET and HEAD /metrics answer 200 in the Prometheus format", async () => {
    const got = await fetch(`${base}/metrics`);
    assert.equal(got.status, 200);
    assert.match(got.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    assert.match(await got.text(), /emanet_build_info/);
    const head = await fetch(`${base}/metrics`, { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), "");
  });

  test("every other path and method is 404", async () => {
    for (const path of ["/", "/metrics/", "/metrics?x=1", "/health/live", "//metrics"]) {
      assert.equal((await fetch(base + path)).status, 404, path);
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      assert.equal((await fetch(`${base}/metrics`, { method })).status, 404, method);
    }
  });

  test("a failing collection is a 500 that says nothing, and the listener lives on", async () => {
    const broken = make();
    broken.watchPool("app", () => assert.fail("ada@example.invalid"));
    const other = await startMetricsListener({ listen, registry: broken.registry, log: silentLog });
    const url = `http://127.0.0.1:${other.address.port}/metrics`;
    for (const attempt of [1, 2]) {
      const answer = await fetch(url);
      assert.equal(answer.status, 500, `attempt ${attempt}`);
      assert.equal(await answer.text(), "");
    }
    await other.close();
  });

  test("a port in use rejects, and the message says which setting to change", async () => {
    const taken = { host: "127.0.0.1", port: listener.address.port };
    await assert.rejects(startMetricsListener({ listen: taken, registry: metrics.registry, log: silentLog }), {
      code: "address_unusable",
      message: /EMANET_METRICS_LISTEN/,
    });
  });

  // Below the ten seconds after which the listener ends a silent connection.
  test("closing ends a scrape that waits for a database that does not answer", { timeout: 7_000 }, async () => {
    const stuck = make();
    const asked = Promise.withResolvers<void>();
    stuck.watchJobs(() => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    const other = await startMetricsListener({ listen, registry: stuck.registry, log: silentLog });
    const scrape = assert.rejects(fetch(`http://127.0.0.1:${other.address.port}/metrics`));
    await asked.promise;
    await other.close();
    await scrape;
  });
});
