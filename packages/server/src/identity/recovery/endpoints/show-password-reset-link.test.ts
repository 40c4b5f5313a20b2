import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the page behind the link of a password reset speaks the language of the browser", async () => {
  const page = await service.send("GET", "/reset-password", { headers: { "accept-language": "tr" } });
  assert.match(page.body.toString(), /<html lang="tr">[\s\S]*Yeni parola belirleyin/);
});
