import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isProblem, sendFiles } from "../../sdks/typescript/src/index.ts";
import { clientAs, startForClients } from "./connect.ts";

const service = await startForClients({ after });

test("sendFiles sends a snapshot file by file; what fails cancels it", async () => {
  const { client } = await clientAs(service);
  const names = Array.from({ length: 12 }, (_, i) => `klasör/${i}.txt`);
  const mtime = new Date(1_700_000_000_000);
  const files = names.map((name) => ({ path: name, body: Buffer.from(name.repeat(100)), mtime, mode: 0o640 }));
  const made = await sendFiles(client, { source: "dosyalar", label: "Gece" }, files, { atOnce: 3 });
  assert.deepEqual([made.status, made.file_count, made.label], ["completed", 12, "Gece"]);
  const { data } = await client.snapshots.listTree({ id: made.id, path: "klasör" });
  assert.deepEqual([data.length, data[0]?.mode, Date.parse(data[0]?.mtime ?? "")], [12, "0640", mtime.getTime()]);
  const wrong = async function* () {
    yield* files;
    yield { path: "klasör", body: Buffer.from("x") };
  };
  await assert.rejects(sendFiles(client, { source: "yanlış" }, wrong()), (error) => isProblem(error, "state_conflict"));
  const { data: snapshots } = await client.snapshots.list({ status: "canceled" });
  assert.equal(snapshots[0]?.source.name, "yanlış");
});
