import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { createOutboxMail, createOutboxSms } from "./outbox.ts";
import { type OutgoingMail, type OutgoingSms, PermanentDeliveryError, TransientDeliveryError } from "./ports.ts";

const clock = { now: () => new Date("2026-03-01T09:30:00.123Z") };
const id = "0198c0de-0000-7000-8000-00000000abcd";
const mail: OutgoingMail = {
  ...{ id, to: "ada@mukellef.example", subject: "Başvuru", text: "Merhaba\n" },
  ...{ template: "application_received", language: "tr" },
};
const sms: OutgoingSms = { id, to: "+905000000000", text: "Kod: 123456", template: "otp_code", language: "tr" };

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "outbox-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  return path.join(made, "outbox");
}

describe("the outbox", () => {
  test("a mail is one JSON file, readable by its owner only, with everything a person or a test needs", async (t) => {
    const outbox = await folder(t);
    await createOutboxMail({ folder: outbox, clock }).send(mail);
    assert.deepEqual(await readdir(outbox), [`mail-20260301T093000123Z-${id}.json`]);
    const file = path.join(outbox, `mail-20260301T093000123Z-${id}.json`);
    assert.deepEqual(JSON.parse(await readFile(file, "utf8")), {
      kind: "mail",
      created_at: "2026-03-01T09:30:00.123Z",
      ...mail,
    });
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(outbox)).mode & 0o777, 0o700);
  });

  test("an SMS is one JSON file, and files sort by time", async (t) => {
    const outbox = await folder(t);
    let second = 1;
    const port = createOutboxSms({
      folder: outbox,
      clock: { now: () => new Date(Date.UTC(2026, 2, 1, 9, 0, second++)) },
    });
    await port.send(sms);
    await port.send({ ...sms, text: "second" });
    const files = (await readdir(outbox)).sort();
    const texts = await Promise.all(files.map((name) => readFile(path.join(outbox, name), "utf8")));
    assert.deepEqual(
      texts.map((text) => JSON.parse(text).text),
      ["Kod: 123456", "second"],
    );
  });

  test("an id cannot lead out of the folder", async (t) => {
    const outbox = await folder(t);
    const port = createOutboxMail({ folder: outbox, clock });
    await assert.rejects(port.send({ ...mail, id: "../../escaped" }), PermanentDeliveryError);
    await assert.rejects(readdir(outbox), { code: "ENOENT" });
  });

  test("a folder that cannot be written is transient, and the error does not name it", async (t) => {
    const outbox = await folder(t);
    await writeFile(outbox, "a file is in the way");
    await assert.rejects(createOutboxMail({ folder: outbox, clock }).send(mail), (error: Error) => {
      assert.ok(error instanceof TransientDeliveryError);
      assert.equal(error.message, "outbox_not_writable");
      return true;
    });
  });
});
