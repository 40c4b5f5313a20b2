/** A night on which nothing changed: what is known of the night before holds for it, and no job does it again. */

import assert from "node:assert/strict";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { FileCache } from "@emanet/engine/backup";
import { jobsDone } from "../testing/sent-messages.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { backUp, createSnapshot, inTurn, openAgent, type TestSnapshot } from "../uploads/testing.ts";
import { snapshotTest } from "./testing.ts";

const env = await snapshotTest({ after });
const { service } = env;
const services = inTurn([service]);
const agent = await openAgent(services, env.accountId, 7);
const folder = await temporaryFolder({ after });
const jobs = ["snapshots.verify", "paths.project_vault", "retention.assess_snapshot"];

// Jobs are gone from their table when they have ended.
await service.database.owner.query(`
  create table emanet.test_jobs (task text, payload text);
  create function emanet.test_note_job() returns trigger language plpgsql security definer as
    $$ begin insert into emanet.test_jobs values (new.task, new.payload); return null; end $$;
  create trigger test_note_job after insert on emanet.jobs for each row execute function emanet.test_note_job()`);

interface Office {
  readonly write: (name: string, content: string) => void;
  /** Backs up; the snapshot and the jobs that its completion has enqueued. */
  readonly night: () => Promise<TestSnapshot & { readonly enqueued: readonly string[] }>;
}

function office(name: string): Office {
  const from = path.join(folder, name);
  mkdirSync(from);
  const cache = new FileCache(path.join(folder, `${name}.sqlite`));
  after(() => cache.close());
  const write = (file: string, content: string) => {
    writeFileSync(path.join(from, file), content);
    // The cache takes only files that changed a while ago.
    utimesSync(path.join(from, file), 1_700_000_000, 1_700_000_000);
    utimesSync(from, 1_700_000_000, 1_700_000_000);
  };
  write("fatura.xml", "<a/>");
  return {
    write,
    async night() {
      service.clock.advance(24 * 60 * 60_000);
      const snapshot = await createSnapshot(services, agent, name);
      await env.rows("delete from emanet.test_jobs");
      await backUp(services, agent, snapshot, from, { cache });
      const rows = await env.rows<{ task: string }>(
        "select task from emanet.test_jobs where task = any ($1) order by task",
        [jobs],
      );
      return { ...snapshot, enqueued: rows.map(({ task }) => task) };
    },
  };
}

const settled = () => jobsDone(service, ...jobs);

async function stateOf(id: string) {
  const [row] = await env.rows<{ verified: Date | null; assessed: Date | null; suspicious: Date | null }>(
    "select verified_at as verified, assessed_at as assessed, suspicious_at as suspicious from emanet.snapshots where id = $1",
    [id],
  );
  return { verified: row?.verified ?? null, assessed: row?.assessed ?? null, suspicious: row?.suspicious ?? null };
}

const history = async ({ sourceId }: TestSnapshot, file: string) =>
  (await env.get(`/v1/files/history?source=${sourceId}&path=${file}`, await agent.auth())).json;

test("a night like the one before is verified since then, assessed, and in the history, without a job", async () => {
  const { night, write } = office("sessiz");
  const first = await night();
  assert.deepEqual(first.enqueued, jobs.toSorted());
  await settled();
  const second = await night();
  assert.deepEqual(second.enqueued, []);
  const [one, two] = [await stateOf(first.id), await stateOf(second.id)];
  assert.ok(one.verified !== null);
  assert.deepEqual(two.verified, one.verified, "its content was read back when that of the first was");
  assert.ok(two.assessed !== null && two.suspicious === null);
  assert.match(JSON.stringify(await history(second, "fatura.xml")), new RegExp(second.id));
  write("fatura.xml", "<b/>");
  const third = await night();
  assert.deepEqual(third.enqueued, jobs.toSorted(), "something has changed");
  await settled();
  const changed = await stateOf(third.id);
  assert.ok(changed.verified !== null && changed.verified > one.verified);
});

test("a night like one that was not verified, or whose verification failed, is verified itself", async () => {
  const { night } = office("hasarlı");
  const first = await night();
  await settled();
  await env.rows("update emanet.snapshots set verified_at = null where id = $1", [first.id]);
  const second = await night();
  assert.deepEqual(second.enqueued, ["snapshots.verify"]);
  await settled();
  assert.ok((await stateOf(second.id)).verified !== null);
  await env.rows("update emanet.snapshots set verification_failed_at = verified_at where id = $1", [second.id]);
  assert.deepEqual((await night()).enqueued, ["snapshots.verify"]);
});
