/** `docs/AUDIT-RECORDS.md`: what each operation writes into the audit trail, made from the table that the tests compare with what is written. */

import {
  backgroundActions,
  reasonsForNothing,
  refusedAction,
  type WrittenActions,
  writtenActions,
} from "../packages/server/src/audit/index.ts";
import type { EndpointSpec } from "../packages/server/src/kernel/http/endpoint.ts";

export function auditRecordsPage(specs: readonly EndpointSpec[]): string {
  return [
    "# Audit records by operation",
    "",
    "What each operation writes into the audit trail ([AUDIT](AUDIT.md)). This page is made from",
    "`packages/server/src/audit/recorded-actions.ts` by `npm run generate`; tests call every operation and compare.",
    "",
    `Beside these, every operation writes \`${refusedAction}\` when a caller who is known is refused with 403: the first time at once, with the code`,
    "of the refusal; those that follow within an hour are one more record with their `count`.",
    "",
    "Jobs and the first start write:",
    `${backgroundActions.map((action) => `\`${action}\``).join(", ")}.`,
    "",
    "| operation | request | records |",
    "|---|---|---|",
    ...specs.map(row).sort(),
    "",
  ].join("\n");
}

function row({ id, method, path }: EndpointSpec): string {
  return `| \`${id}\` | \`${method} ${path}\` | ${inWords(writtenActions[id])} |`;
}

function inWords(written: WrittenActions | undefined): string {
  if (written === undefined) return reasonsForNothing.reads;
  if (!("nothing" in written)) return names(written);
  const { nothing, sometimes = [] } = written;
  return `${reasonsForNothing[nothing]}${sometimes.length === 0 ? "" : `; also ${names(sometimes)}`}`;
}

function names(actions: readonly string[]): string {
  return actions.map((action) => `\`${action}\``).join(", ");
}
