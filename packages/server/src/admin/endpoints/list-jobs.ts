/** `GET /v1/admin/jobs`: the background work that waits, runs or failed, for staff. */

import { pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import {
  closed,
  identifier,
  nullable,
  oneOf,
  type Static,
  Type,
  text,
  timestamp,
  uuid,
} from "../../kernel/http/schema.ts";
import { jobStates } from "../../kernel/jobs/index.ts";
import { type ListedJob, listJobs } from "../store.ts";

const jobKind = text(100, {
  pattern: "^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$",
  description: "The kind of work.",
  examples: ["messages.send"],
});

const jobSchema = closed(
  {
    id: uuid("Id of the job."),
    kind: jobKind,
    state: oneOf(jobStates, "`scheduled` until `run_at`, `queued` for a worker, `running`, or `failed` for good."),
    attempt: Type.Integer({
      format: "int32",
      minimum: 1,
      maximum: 2_147_483_647,
      description: "Number of the current attempt, from 1.",
    }),
    crashes: Type.Integer({
      format: "int32",
      minimum: 0,
      maximum: 2_147_483_647,
      description: "How many workers died while they ran the job.",
    }),
    last_error: nullable(
      closed(
        {
          class: identifier("^[A-Za-z0-9_]+$", "Class of the error."),
          code: nullable(identifier("^[A-Za-z0-9_]+$", "Code of the error, if it has one.")),
        },
        {
          description:
            "Error of the last failed attempt. The message is not stored, because it can contain personal data.",
        },
      ),
    ),
    created_at: timestamp("When it was created."),
    run_at: timestamp("When it is or was due."),
    failed_at: nullable(timestamp("When it was given up.")),
  },
  { title: "AdminJob" },
);

/** The database's function shows them in this order alone. */
const sorting = sortable("-created_at");

export const listAdminJobs = endpoint(
  {
    id: "admin.list_jobs",
    method: "GET",
    path: "/v1/admin/jobs",
    tag: "admin",
    summary: "List the jobs",
    description:
      "Jobs that are waiting or running, and jobs that failed in the last 90 days, newest first. Payloads are not shown, because they can contain personal data. Finished jobs are deleted.",
    access: { kind: "staff" },
    query: closed({
      ...pageQuery,
      ...sorting.query,
      kind: Type.Optional(jobKind),
      state: Type.Optional(oneOf(jobStates, "Only items in this state.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(jobSchema, "AdminJobPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_jobs", filters: [query.kind ?? null, query.state ?? null], sorting };
    const page = ctx.cursors.start(query, binding);
    const filter = { ...(query.kind && { task: query.kind }), ...(query.state && { state: query.state }) };
    const rows = await ctx.read({ kind: "staff" }, (tx) => listJobs(tx, filter, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, jobShape) };
  },
);

function jobShape(row: ListedJob): Static<typeof jobSchema> {
  return {
    id: row.id,
    kind: row.task,
    state: row.state,
    attempt: row.attempt,
    crashes: row.crashes,
    last_error: row.error_class === null ? null : { class: row.error_class, code: row.error_code },
    created_at: row.created_at.toISOString(),
    run_at: row.run_at.toISOString(),
    failed_at: row.failed_at?.toISOString() ?? null,
  };
}
