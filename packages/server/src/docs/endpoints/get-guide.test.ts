import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";
import { guideNames } from "../guides.ts";

const service = await startTestService({ after });

test("a guide is in the language of Accept-Language, in English without one, and in the one that its address names", async () => {
  const ask = (path: string, accepted?: string) =>
    service.send("GET", path, accepted === undefined ? {} : { headers: { "accept-language": accepted } });
  for (const name of guideNames) {
    const path = `/docs/guides/${name}`;
    const answers = [
      ["tr", await ask(path, "tr-TR,tr;q=0.9,en;q=0.8")],
      ["en", await ask(path, "en-GB,tr;q=0.5")],
      ["en", await ask(path)],
      ["tr", await ask(`${path}?lang=tr`, "en")],
      ["en", await ask(`${path}?lang=en`, "tr")],
    ] as const;
    for (const [language, { status, headers, body }] of answers) {
      assert.deepEqual([status, headers["content-language"]], [200, language]);
      assert.match(headers.vary ?? "", /^Accept-Language\b/);
      assert.match(body.toString(), new RegExp(`<html lang="${language}">`));
    }
  }
});

test("each page links itself in the other language", async () => {
  for (const path of ["/docs", "/docs/errors", "/docs/errors/not_found", "/docs/guides/limits"]) {
    const turkish = (await service.send("GET", `${path}?lang=tr`)).body.toString();
    const english = (await service.send("GET", `${path}?lang=en`)).body.toString();
    assert.match(turkish, new RegExp(`href="${path}\\?lang=en" hreflang="en" lang="en">English<`), path);
    assert.match(english, new RegExp(`href="${path}\\?lang=tr" hreflang="tr" lang="tr">Türkçe<`), path);
  }
});

test("404: a guide that does not exist; 422: a language that does not", async () => {
  assert.equal((await service.send("GET", "/docs/guides/no-such-guide")).json?.code, "not_found");
  assert.equal((await service.send("GET", "/docs/guides/limits?lang=de")).json?.code, "validation_failed");
});

test("examples have the address of this service", async () => {
  const page = (await service.send("GET", "/docs/guides/sign-in?lang=en")).body.toString();
  assert.ok(page.includes(`${service.url}/v1/auth/login`));
  assert.ok(!page.includes("api.example"));
});
