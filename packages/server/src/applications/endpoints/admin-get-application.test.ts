import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startStaffBench } from "../../testing/staff.ts";

const { apply, get } = await startStaffBench({ after });

test("staff read an application with the tax number masked; 404 for what is none", async () => {
  const read = await get(`/applications/${await apply("bir@ornek.example")}`);
  assert.deepEqual([read.json?.status, read.json?.tax_id], ["submitted", "******7808"]);
  assert.equal((await get("/applications/0199c0de-0000-7000-8000-00000000dead")).status, 404);
});
