import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../testing/people.ts";
import { storedRows } from "../testing/rows.ts";
import { startTestService } from "../testing/running.ts";
import { codeIn, jobsDone, messageTo, tokenIn } from "../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

/** Copies every payload that is written to the jobs table, because rows are deleted when their job is done. */
async function keepPayloads(): Promise<() => Promise<{ task: string; payload: string }[]>> {
  await service.database.owner.query(`
    create table emanet.seen_payloads (task text, payload text);
    create function emanet.see_payload() returns trigger language plpgsql security definer as $$
      begin insert into emanet.seen_payloads values (new.task, new.payload::text); return new; end $$;
    create trigger see_payload after insert or update on emanet.jobs
      for each row execute function emanet.see_payload();`);
  return async () => (await service.database.owner.query("select * from emanet.seen_payloads")).rows;
}

describe("messages in the jobs table", () => {
  test("contain no link, no code and no address in clear text, and are delivered unchanged", async () => {
    const payloads = await keepPayloads();
    const { auth } = await tokenFor(service);
    const email = "muhurlu@ornek.example";
    await service.send("POST", "/v1/members", { json: { email, full_name: "Mühürlü", role: "viewer" }, headers: auth });
    await service.send("POST", "/v1/auth/password-reset/request", { json: { email: demo.email } });
    const { email: mine, password } = demo;
    await service.send("POST", "/auth/sms-otp/request", { json: { email: mine, password } });
    const person = await signInAs(service, demo);
    const phone = "+905327770099";
    await service.send("POST", "/v1/me/phone", { json: { phone }, headers: person.auth });
    const secrets = [
      tokenIn(await messageTo(service.dataDir, email, "enrolment")),
      tokenIn(await messageTo(service.dataDir, demo.email, "password_reset")),
      codeIn(await messageTo(service.dataDir, "+905320000000", "otp_code")),
      codeIn(await messageTo(service.dataDir, phone, "otp_code")),
    ];
    const seen = await payloads();
    const tasks = new Set(seen.map(({ task }) => task));
    for (const task of ["messages.send", "identity.send_code", "identity.mail_password_reset"]) {
      assert.ok(tasks.has(task), task);
    }
    for (const { task, payload } of seen) {
      for (const word of [...secrets, "ornek.example", demo.email, "+9053", "#enr_"]) {
        assert.ok(!payload.includes(word), `${task} contains ${word}`);
      }
      if (task === "messages.send") assert.match(payload, /^\{"sealed":"[A-Za-z0-9+/=]+"\}$/);
    }
  });

  test("cannot be decrypted in the row of another job", async () => {
    // The trigger gives a new job the payload of another one.
    const { auth } = await tokenFor(service);
    const copy = `
      create function emanet.swap_payload() returns trigger language plpgsql security definer as $$
        begin
          if new.task = 'messages.send' then
            new.payload := (select payload::json from emanet.seen_payloads where task = 'messages.send' limit 1);
          end if;
          return new;
        end $$;
      create trigger swap_payload before insert on emanet.jobs for each row execute function emanet.swap_payload();`;
    await service.database.owner.query(copy);
    const json = { email: "baskasi@ornek.example", full_name: "Başkası", role: "viewer" };
    assert.equal((await service.send("POST", "/v1/members", { json, headers: auth })).status, 201);
    const failed = "select error_code from emanet.jobs where task = 'messages.send' and failed_at is not null";
    await jobsDone(service, "messages.send");
    const codes = (await storedRows<{ error_code: string }>(service.database, failed)).map((row) => row.error_code);
    assert.deepEqual(new Set(codes), new Set(["unreadable_payload"]));
  });
});
