import assert from "node:assert/strict";
import { after, test } from "node:test";
import { enter } from "../../testing/pages.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the door of a withdrawal leads to the question, in the language of the browser", async () => {
  const page = await service.send("GET", "/withdraw", { headers: { "accept-language": "tr" } });
  assert.match(page.body.toString(), /<html lang="tr">[\s\S]*geri çekilsin mi/);
  const { next } = await enter(service, "/withdraw", `wit_${"A".repeat(43)}`);
  assert.equal(next, "/withdraw/confirm");
});
