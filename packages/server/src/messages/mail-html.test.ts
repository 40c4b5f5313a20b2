import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { languages, mailTemplateNames, renderMail } from "./templates.ts";

/** Values for every template. The texts use those that they know. */
const everyValue = {
  ...{ application_id: "0198c0de", kind: "accounting_office", package: "accountant", reason: "gone", at: "2026-03-01" },
  ...{
    link: "https://emanet.example/enroll#enr_x",
    ban_id: "b1",
    until: "2026",
    webhook_id: "w1",
    host: "kopru.example",
  },
  ...{ name: "Ada", reader: "owner", by: "named", by_name: "Elif", detail: "owner", decision: "approved" },
  ...{
    member: "Ada",
    count: "3",
    policy: "token",
    snapshot_id: "s1",
    source: "Logo",
    made_at: "2026",
    account_id: "a",
  },
  ...{ writer_kind: "client", writer_id: "c1", request_id: "r1", chain: "c", seq: "4", finding: "hash", act_id: "x" },
  ...{ target_id: "t", due_at: "2026", erase_after: "2026", kit_id: "k", vault_id: "v", ready_at: "2026" },
  ...{ erasure_id: "e", proof: "p", source_id: "q", lost: "1", changed: "2", first: "2026" },
};

function render(template: (typeof mailTemplateNames)[number], language: "tr" | "en", more: object = {}) {
  const kind = template === "act_scheduled" ? "vault_deletion" : template === "ban_set" ? "client" : everyValue.kind;
  return renderMail(template, language, { ...everyValue, kind, ...more } as never);
}

/** The words of a page, as a mail program shows them. */
function wordsOf(html: string): string {
  return html
    .replace(/<head>.*<\/head>/s, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ");
}

describe("a mail as a page", () => {
  test("has the words of its text, for every template and in both languages", () => {
    assert.ok(mailTemplateNames.length > 30);
    for (const template of mailTemplateNames) {
      for (const language of languages) {
        const { subject, text, html } = render(template, language);
        const shown = wordsOf(html);
        assert.ok(html.includes(`<html lang="${language}">`), template);
        assert.ok(shown.includes(subject), `${template}: ${subject}`);
        for (const line of text.split("\n").filter((one) => one !== "")) {
          // A table has the name and the value of a line in two cells.
          const words = shown.includes(line) ? [line] : line.split(": ");
          for (const part of words) assert.ok(shown.includes(part), `${template}, ${language}: ${part}`);
        }
        assert.doesNotMatch(html, /undefined|\[object/, template);
      }
    }
  });

  test("loads nothing and runs nothing: no image, no remote address, no script, no form", () => {
    for (const template of mailTemplateNames) {
      const { html } = render(template, "tr");
      assert.doesNotMatch(
        html,
        /<(?:img|script|link|iframe|object|form|video|audio|svg)\b|url\(|@import|\bsrc=|\bon\w+=/i,
      );
      for (const [, address] of html.matchAll(/href="([^"]*)"/g)) assert.equal(address, everyValue.link, template);
    }
  });

  test("shows what other people wrote as text: markup is escaped, an address in it cannot be followed", () => {
    const nasty = `"><img src=x onerror=alert(1)> <a href="https://evil.example">https://evil.example</a> & 'x'`;
    const { html } = render("snapshot_deleted", "tr", { by: nasty, source: nasty });
    assert.doesNotMatch(html, /<img|<a /);
    assert.ok(html.includes("&lt;img src=x onerror=alert(1)&gt;"));
    const linked = render("application_received", "en", { application_id: "https://evil.example" });
    assert.deepEqual(
      [...linked.html.matchAll(/href="([^"]*)"/g)].map(([, address]) => address),
      [everyValue.link],
    );
  });

  test("a link that stands alone is a button, and its address is shown", () => {
    const { html } = render("password_reset", "tr");
    assert.match(html, /<a class="button" href="https:\/\/emanet\.example\/enroll#enr_x"[^>]*>Bağlantıyı aç<\/a>/);
    assert.ok(wordsOf(html).includes(everyValue.link));
    assert.match(render("password_reset", "en").html, />Open the link<\/a>/);
  });
});
