import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { systemClock } from "../kernel/clock.ts";
import { PermanentJobError } from "../kernel/jobs/task.ts";
import { silentLog } from "../kernel/log.ts";
import {
  createMessagePorts,
  type MessagePayload,
  type MessagePorts,
  type MessageSettings,
  mailMessage,
  messageFolderPath,
  PermanentDeliveryError,
  parseMessagePayload,
  sendMessage,
  sendMessageTask,
  smsMessage,
  TransientDeliveryError,
} from "./index.ts";

const id = "0198c0de-0000-7000-8000-00000000abcd";
const application_id = "0198c0de-0000-7000-8000-00000000ef01";

const mail = mailMessage({
  ...{ id, to: "ada@mukellef.example", language: "tr", template: "application_received" },
  values: { application_id, link: "https://emanet.example/withdraw#wit_x" },
});
const sms = smsMessage({
  ...{ id, to: "+905000000001", language: "en", template: "otp_code", expiresAt: new Date("2026-03-01T09:35:00Z") },
  values: { code: "123456", minutes: "5" },
});

const settings: MessageSettings = {
  ...{ dataDir: "unused", smtpUrl: null, mailFrom: "Emanet <noreply@emanet.example>", smsUrl: null },
  ...{ smsBody: '{"to":"{to}","text":"{text}"}', smsContentType: "application/json", smsAuthorization: null },
  smsSuccess: null,
};

function recordingPorts(): MessagePorts & { readonly sent: unknown[] } {
  const sent: unknown[] = [];
  const port = { send: async (message: unknown) => void sent.push(message) };
  return { mail: port, sms: port, sent };
}

function run(payload: unknown, ports: MessagePorts, now = "2026-03-01T09:30:00Z"): Promise<void> {
  const clock = { now: () => new Date(now) };
  const signal = new AbortController().signal;
  return sendMessage.execute(payload, {
    jobId: id,
    attempt: 1,
    progress: () => {},
    signal,
    clock,
    log: silentLog,
    ports,
  });
}

describe("messages in the queue", () => {
  test("a payload keeps its values through JSON, and its port gets the message", async () => {
    for (const payload of [mail, sms]) {
      const ports = recordingPorts();
      const read = parseMessagePayload(JSON.parse(JSON.stringify(payload)));
      assert.deepEqual(read, payload);
      await sendMessageTask(ports, read);
      const { kind: _kind, ...message } = payload;
      delete (message as { expires_at?: string }).expires_at;
      assert.deepEqual(ports.sent, [message]);
    }
  });

  test("an invalid payload ends the job without a retry", async () => {
    const wrong: unknown[] = [
      null,
      {},
      { ...mail, kind: "fax" },
      { ...mail, extra: 1 },
      { ...mail, id: "../x" },
      { ...mail, to: "" },
      { ...mail, text: 5 },
      { ...mail, text: "x".repeat(20_001) },
      { ...mail, language: "de" },
      { ...sms, to: "05321112233" },
      { ...sms, text: "x".repeat(403) },
      { ...sms, expires_at: "soon" },
    ];
    for (const payload of wrong) {
      assert.throws(() => parseMessagePayload(payload), PermanentDeliveryError, JSON.stringify(payload));
      await assert.rejects(run(payload, recordingPorts()), PermanentJobError);
    }
  });

  test("only a permanent delivery error is a permanent job error", () => {
    assert.ok(new PermanentDeliveryError("a") instanceof PermanentJobError);
    assert.ok(!(new TransientDeliveryError("a") instanceof PermanentJobError));
  });

  test("an expired code is not sent; a valid code is sent", async () => {
    const ports = recordingPorts();
    await assert.rejects(run(sms, ports, "2026-03-01T09:35:00.001Z"), { code: "expired" });
    assert.equal(ports.sent.length, 0);
    await run(sms, ports, "2026-03-01T09:35:00.000Z");
    assert.equal(ports.sent.length, 1);
  });

  test("an invalid address is refused when the mail is queued", () => {
    const request = {
      id,
      language: "tr",
      template: "application_received",
      values: { application_id, link: "https://emanet.example/withdraw#wit_x" },
    } as const;
    assert.throws(() => mailMessage({ ...request, to: "" }), PermanentDeliveryError);
  });

  test("without gateways mail and SMS are written to the message folder in the data folder", async (t) => {
    const dataDir = await mkdtemp(path.join(tmpdir(), "messages-"));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    const ports = createMessagePorts({ ...settings, dataDir }, { clock: systemClock });
    for (const payload of [mail, sms] as MessagePayload[]) await sendMessageTask(ports, payload);
    const files = (await readdir(messageFolderPath(dataDir))).sort();
    assert.deepEqual(
      files.map((name) => name.slice(0, 4)),
      ["mail", "sms-"],
    );
    const read = JSON.parse(await readFile(path.join(messageFolderPath(dataDir), files[0] ?? ""), "utf8"));
    assert.deepEqual([read.to, read.template, read.language], ["ada@mukellef.example", "application_received", "tr"]);
  });

  test("wrong gateway settings fail the start", () => {
    const wrong: Partial<MessageSettings>[] = [
      { smtpUrl: "smtp://mail.example/?pool=true" },
      { smtpUrl: "smtp://mail.example", mailFrom: "nobody" },
      { smsUrl: "http://sms.example.invalid" },
      { smsUrl: "https://sms.example.invalid", smsContentType: "text/plain" },
    ];
    for (const changes of wrong) {
      assert.throws(() => createMessagePorts({ ...settings, ...changes }, { clock: systemClock }), TypeError);
    }
    const right = { smtpUrl: "smtps://u:p@mail.example", smsUrl: "https://sms.example.invalid" };
    createMessagePorts({ ...settings, ...right }, { clock: systemClock });
  });
});
