import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn } from "../../testing/lists.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, act, apply, get } = await startStaffBench({ after });

test("newest first, and by state", async () => {
  const first = await apply("bir@ornek.example");
  service.clock.advance(1_000);
  const second = await apply("iki@ornek.example");
  await act(`/applications/${first}/review`);
  const idsOf = async (query: string) =>
    listIn<{ id: string }>(await get(`/applications${query}`), "data").map(({ id }) => id);
  assert.deepEqual(await idsOf(""), [second, first]);
  assert.deepEqual(await idsOf("?status=submitted"), [second]);
  assert.deepEqual(await idsOf("?status=under_review"), [first]);
});
