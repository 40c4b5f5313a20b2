import assert from "node:assert/strict";
import { after, test } from "node:test";
import { enter } from "../../testing/pages.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the door of a password reset leads to the form, in the language of the browser", async () => {
  const page = await service.send("GET", "/reset-password", { headers: { "accept-language": "tr" } });
  assert.match(page.body.toString(), /<html lang="tr">[\s\S]*Yeni parola belirleyin/);
  const { next } = await enter(service, "/reset-password", `pas_${"A".repeat(43)}`);
  assert.equal(next, "/reset-password/new");
});
