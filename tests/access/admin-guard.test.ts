import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { exchangeRaw } from "../../packages/server/src/testing/raw.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";

const service = await startTestService({ after }, { settings: { EMANET_LIMIT_ADMIN: "60/60" } });
const member = await tokenFor(service);
const machine = await tokenFor(service, { as: "client" });
const staff = await tokenFor(service, { as: "staff" });

const unknown = [
  "/v1/admin",
  "/v1/admin/",
  "/v1/admin/anything",
  "/v1/admin/accounts/none/of/this",
  "/v1/admin/overview/",
  "//v1/admin/overview",
  "/v1//admin/overview",
  "/v1/admin//overview",
  "/v1/%61dmin/overview",
  "/v1%2Fadmin%2Foverview",
  "/v1/%2561dmin/overview",
  "/V1/ADMIN/overview",
  "/v1/./admin/overview",
  "/v1/x/../admin/overview",
  "/v1/admin/%zz",
  "/v1/admin/..%2f..%2fv1/admin",
  "/v1\\admin\\overview",
];

/** Sends the path unchanged; HTTP clients would normalise it. */
async function ask(target: string, token?: string, method = "GET"): Promise<string> {
  const authorization = token === undefined ? "" : `${`authorization: ${token}`}\r\n`;
  const answer = await exchangeRaw(
    service,
    `${method} ${target} HTTP/1.1\r\nHost: x\r\n${authorization}Connection: close\r\n\r\n`,
  );
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? "";
  return `${status} ${/"code":"(\w+)"/.exec(answer)?.[1] ?? ""}`;
}

describe("the guard of /v1/admin", () => {
  test("401 without a token, 403 for members and clients, for every path, also an unknown one", async () => {
    for (const target of ["/v1/admin/overview", ...unknown]) {
      assert.equal(await ask(target), "401 missing_token", target);
      assert.equal(await ask(target, member.auth.authorization), "403 admin_required", target);
      assert.equal(await ask(target, machine.auth.authorization), "403 admin_required", target);
    }
  });

  test("every method is guarded in the same way", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]) {
      assert.match(await ask("/v1/admin/anything", undefined, method), /^401/, method);
      assert.match(await ask("/v1/admin/anything", member.auth.authorization, method), /^403/, method);
    }
  });

  test("staff get 404 for an unknown path and 200 for a known one", async () => {
    assert.equal(await ask("/v1/admin/anything", staff.auth.authorization), "404 not_found");
    const overview = await service.send("GET", "/v1/admin/overview", { headers: staff.auth });
    assert.equal(overview.status, 200, overview.body.toString());
  });

  test("a path that only looks similar is not guarded and gets 404", async () => {
    for (const target of ["/v1/administrators", "/v1/xadmin/overview", "/v1/x/admin/overview"]) {
      assert.equal(await ask(target), "404 not_found", target);
    }
  });

  test("429: 60 reads a minute over all paths, per staff member", async () => {
    const other = await tokenFor(service, { as: "staff" });
    const codes: string[] = [];
    for (let at = 0; at < 61; at++)
      codes.push(await ask(at % 2 ? "/v1/admin/overview" : "/v1/admin/none", other.auth.authorization));
    assert.equal(codes.filter((code) => code.startsWith("429")).length, 1);
    assert.match(codes.at(-1) ?? "", /^429 rate_limited/);
    const again = await tokenFor(service, { as: "staff" });
    assert.match(await ask("/v1/admin/overview", again.auth.authorization), /^200/);
  });
});
