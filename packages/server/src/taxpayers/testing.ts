/** Taxpayers for tests, with numbers whose check digits are right. */

import assert from "node:assert/strict";
import { isTaxId } from "../identifiers/index.ts";
import type { TestService } from "../testing/running.ts";

let serial = 500_000_000;

/** A VKN that no other call returned. */
export function newTaxId(): string {
  serial++;
  return Array.from({ length: 10 }, (_, digit) => `${serial}${digit}`).find(isTaxId) ?? newTaxId();
}

export interface MadeTaxpayer {
  readonly id: string;
  readonly vault_id: string;
  readonly [name: string]: unknown;
}

/** A taxpayer of the caller's account, made through the API. */
export async function makeTaxpayer(
  service: TestService,
  auth: Readonly<Record<string, string>>,
  name: string,
  taxId = newTaxId(),
): Promise<MadeTaxpayer> {
  const made = await service.send("POST", "/v1/taxpayers", { json: { name, tax_id: taxId }, headers: auth });
  assert.equal(made.status, 201, made.body.toString());
  return made.json as MadeTaxpayer;
}
