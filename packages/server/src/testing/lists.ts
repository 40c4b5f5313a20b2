/** Members of answers, held to their kind. */

import assert from "node:assert/strict";
import type { Sent } from "./running.ts";

/** The member of that name, which has to be a list. */
export function listIn<Item>(answer: Sent, name: string): Item[] {
  const value = answer.json?.[name];
  assert.ok(Array.isArray(value), `${name} is no list in ${answer.body.toString()}`);
  return value as Item[];
}

/** The member of that name, which has to be an object. */
export function objectIn<Item extends object>(answer: Sent, name: string): Item {
  const value = answer.json?.[name];
  assert.ok(typeof value === "object" && value !== null, `${name} is no object in ${answer.body.toString()}`);
  return value as Item;
}
