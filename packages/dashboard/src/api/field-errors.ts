/** What the service found wrong in a form, by the pointer of the field. */

import { isProblem } from "@emanet/client/source";
import { visibleName } from "../parts/shown-name.tsx";

export function fieldErrors(error: unknown): ReadonlyMap<string, string> {
  if (!isProblem(error, "validation_failed")) return new Map();
  return new Map(error.errors.map(({ pointer, detail }) => [pointer, visibleName(detail)]));
}
