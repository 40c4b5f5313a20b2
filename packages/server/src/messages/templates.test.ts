import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { languages, renderMail, renderSms } from "./templates.ts";

const application_id = "0198c0de-0000-7000-8000-00000000abcd";
const link = "https://emanet.example/withdraw#wit_x";

describe("templates", () => {
  test("the staff's mail says id, kind and package in each language", () => {
    const values = { application_id, kind: "accounting_office", package: "accountant" } as const;
    const tr = renderMail("application_received_staff", "tr", values);
    const en = renderMail("application_received_staff", "en", values);
    assert.equal(tr.subject, "Yeni başvuru: SMMM");
    assert.equal(en.subject, "New application: Accountant");
    assert.ok(tr.text.includes(application_id) && tr.text.includes("Mali müşavirlik bürosu"));
    assert.ok(en.text.includes(application_id) && en.text.includes("Accounting office"));
  });

  test("the applicant's mail has the application's number, and nothing else that varies", () => {
    for (const language of languages) {
      const one = renderMail("application_received", language, { application_id, link });
      const other = renderMail("application_received", language, { application_id: "other", link });
      assert.equal(one.text.replace(application_id, "other"), other.text);
      assert.equal(one.subject, other.subject);
      assert.ok(one.text.includes(application_id));
    }
  });

  test("the languages differ", () => {
    const texts = languages.map(
      (language) => renderMail("application_received", language, { application_id, link }).text,
    );
    assert.equal(new Set(texts).size, languages.length);
    assert.match(texts[0] ?? "", /Başvuru numaranız/);
  });

  test("a one-time code fits one SMS in each language", () => {
    for (const language of languages) {
      const text = renderSms("otp_code", language, { code: "123456", minutes: "5" });
      assert.ok(text.includes("123456") && text.includes("5"));
      // 155 letters of the Turkish table or 160 of the default one are one SMS.
      assert.ok(text.length <= 155, `${language}: ${text.length}`);
    }
  });

  test("a value cannot add a line, a header or a direction mark, and is bounded", () => {
    const nasty = `a\r\nBcc: eve@x.example\u2028b\u202Ec\u0000d${"e".repeat(500)}`;
    const { text } = renderMail("application_received", "tr", { application_id: nasty, link });
    assert.ok(text.includes("Başvuru numaranız: a Bcc: eve@x.example b c de"));
    assert.doesNotMatch(text, /\r|\u2028|\u202E|\0/);
    assert.ok(!text.includes("e".repeat(200)));
  });
});
