import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the page runs our scripts only, turns no text into code, cannot be framed and is not stored", async () => {
  for (const path of ["/", "/app"]) {
    const { status, headers } = await service.send("GET", path);
    assert.deepEqual([status, headers["cache-control"], headers["x-frame-options"]], [200, "no-store", "DENY"]);
    const policy = new Map((headers["content-security-policy"] ?? "").split("; ").map((part) => split(part)));
    assert.equal(policy.get("default-src"), "'none'");
    for (const name of ["script-src", "style-src", "font-src", "connect-src"]) assert.equal(policy.get(name), "'self'");
    for (const name of ["base-uri", "frame-ancestors", "trusted-types"]) assert.equal(policy.get(name), "'none'");
    assert.equal(policy.get("require-trusted-types-for"), "'script'");
  }
});

test("the page is the same with and without a session, and has nothing inline", async () => {
  const page = (await service.send("GET", "/")).body.toString();
  const other = await service.send("GET", "/", { headers: { cookie: "__Host-refresh=abc" } });
  assert.equal(other.body.toString(), page);
  assert.doesNotMatch(page, /<style|<script(?![^>]* src=)|\son[a-z]+=|style=/);
});

function split(part: string): [string, string] {
  const at = part.indexOf(" ");
  return [part.slice(0, at), part.slice(at + 1)];
}
