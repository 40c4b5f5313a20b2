import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { createFolderMail, createFolderSms } from "./message-folder.ts";
import { type OutgoingMail, type OutgoingSms, PermanentDeliveryError, TransientDeliveryError } from "./ports.ts";

const clock = { now: () => new Date("2026-03-01T09:30:00.123Z") };
const id = "0198c0de-0000-7000-8000-00000000abcd";
const mail: OutgoingMail = {
  ...{ id, to: "ada@mukellef.example", subject: "Başvuru", text: "Merhaba\n" },
  ...{ template: "application_received", language: "tr" },
};
const sms: OutgoingSms = { id, to: "+905000000000", text: "Kod: 123456", template: "otp_code", language: "tr" };

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "message-folder-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  return path.join(made, "messages");
}

describe("the message folder", () => {
  test("a mail is one JSON file, readable by its owner only, with all fields of the mail", async (t) => {
    const target = await folder(t);
    await createFolderMail({ folder: target, clock }).send(mail);
    assert.deepEqual(await readdir(target), [`mail-20260301T093000123Z-${id}.json`]);
    const file = path.join(target, `mail-20260301T093000123Z-${id}.json`);
    assert.deepEqual(JSON.parse(await readFile(file, "utf8")), {
      kind: "mail",
      created_at: "2026-03-01T09:30:00.123Z",
      ...mail,
    });
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(target)).mode & 0o777, 0o700);
  });

  test("an SMS is one JSON file, and files sort by time", async (t) => {
    const target = await folder(t);
    let second = 1;
    const port = createFolderSms({
      folder: target,
      clock: { now: () => new Date(Date.UTC(2026, 2, 1, 9, 0, second++)) },
    });
    await port.send(sms);
    await port.send({ ...sms, text: "second" });
    const files = (await readdir(target)).sort();
    const texts = await Promise.all(files.map((name) => readFile(path.join(target, name), "utf8")));
    assert.deepEqual(
      texts.map((text) => JSON.parse(text).text),
      ["Kod: 123456", "second"],
    );
  });

  test("an id cannot make a path outside the folder", async (t) => {
    const target = await folder(t);
    const port = createFolderMail({ folder: target, clock });
    await assert.rejects(port.send({ ...mail, id: "../../escaped" }), PermanentDeliveryError);
    await assert.rejects(readdir(target), { code: "ENOENT" });
  });

  test("a folder that is not writable is a transient error, and the error does not contain its path", async (t) => {
    const target = await folder(t);
    await writeFile(target, "a file is in the way");
    await assert.rejects(createFolderMail({ folder: target, clock }).send(mail), (error: Error) => {
      assert.ok(error instanceof TransientDeliveryError);
      assert.equal(error.message, "outbox_not_writable");
      return true;
    });
  });
});
