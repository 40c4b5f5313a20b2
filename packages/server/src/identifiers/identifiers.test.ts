import assert from "node:assert/strict";
import { test } from "node:test";
import { foldEmail, isTaxId, normalizeMobile } from "./index.ts";

test("known-good VKN and TCKN pass; the placeholders that pass by accident do not", () => {
  for (const good of ["4540536920", "1234567808", "10000000146"]) assert.equal(isTaxId(good), true, good);
  for (const bad of ["4444444444", "11111111111", "00000000000"]) assert.equal(isTaxId(bad), false, bad);
});

test("any single wrong digit of a TCKN, and nearly any of a VKN, is caught", () => {
  const caught = (id: string) => {
    const wrong = [...id].flatMap((digit, at) =>
      [..."0123456789"].filter((other) => other !== digit).map((other) => id.slice(0, at) + other + id.slice(at + 1)),
    );
    return wrong.filter((text) => !isTaxId(text)).length / wrong.length;
  };
  assert.equal(caught("10000000146"), 1);
  assert.ok(caught("4540536920") > 0.9);
});

test("what is no run of digits of the right length is no tax number", () => {
  for (const text of ["", "454053692", "45405369200000", "454053692O", " 4540536920", "٤٥٤٠٥٣٦٩٢٠", "1e9"]) {
    assert.equal(isTaxId(text), false, text);
  }
});

test("every usual spelling of a Turkish mobile becomes one E.164 number", () => {
  for (const text of [
    "05321234567",
    "5321234567",
    "905321234567",
    "+905321234567",
    "00905321234567",
    "+90 (532) 123-45 67",
  ]) {
    assert.equal(normalizeMobile(text), "+905321234567", text);
  }
});

test("landlines, foreign numbers and text are no Turkish mobile", () => {
  for (const text of ["02121234567", "+4915112345678", "532123456", "53212345678", "+90532123456a", ""]) {
    assert.equal(normalizeMobile(text), null, text);
  }
});

test("e-mails fold without a locale: I, İ, ı and i stay four letters", () => {
  assert.equal(foldEmail("INFO@Ornek.example"), "info@ornek.example");
  assert.equal(foldEmail("İIıi@x.example"), "İiıi@x.example");
});
