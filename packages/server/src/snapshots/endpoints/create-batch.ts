/** `POST /v1/snapshots/batch`: many snapshots in one call, for an office that backs up all its taxpayers in one night. */

import { problems } from "../../declarations.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, type Static, Type, text } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { createQueued, newSnapshot } from "../new-snapshot.ts";
import { type AccountCaller, type NewUpload, seesStorage } from "../new-upload.ts";
import { createdSnapshot, showSnapshot } from "../shapes.ts";

/** The contract's. */
const maxItems = 300;

const created = 201;

const batchProblem = closed(
  {
    status: Type.Integer({ format: "int32", minimum: 400, maximum: 599, description: "As in a call of its own." }),
    code: identifier("^[a-z_]+$", "The error code.", "writer_not_bound"),
    title: text(200, { description: "The code in words.", examples: ["…"] }),
    detail: text(1000, { description: "What to do about it.", examples: ["…"] }),
    errors: Type.Optional(
      Type.Array(
        closed(
          {
            pointer: Type.String({ maxLength: 500, pattern: "^(/.*)?$", description: "JSON Pointer into the body." }),
            code: identifier("^[a-z_]+$", "The kind of error."),
            detail: text(500, { examples: ["…"] }),
          },
          { title: "BatchFieldError" },
        ),
        { maxItems: 20 },
      ),
    ),
  },
  { title: "BatchProblem" },
);

const batchResult = closed(
  {
    index: Type.Integer({ format: "int32", minimum: 0, maximum: maxItems - 1, description: "Which item." }),
    status: Type.Integer({ format: "int32", minimum: 200, maximum: 599, description: "201, or that of the problem." }),
    snapshot: Type.Optional(createdSnapshot),
    problem: Type.Optional(batchProblem),
  },
  { title: "BatchResult" },
);

type Result = Static<typeof batchResult>;

const batchResults = closed({ results: Type.Array(batchResult, { maxItems }) }, { title: "BatchResults" });

export const createBatch = endpoint(
  {
    id: "snapshots.create_batch",
    method: "POST",
    path: "/v1/snapshots/batch",
    aliases: ["/snapshots/batch"],
    tag: "snapshots",
    summary: "Create many snapshots",
    description: [
      `Creates up to ${maxItems} snapshots, whose content follows file by file or by the upload protocol. The call counts once in the limits of creating snapshots.`,
      "Each item has its own result: the queued snapshot, or the problem that the item would have had alone. With an `Idempotency-Key` a repetition answers the same for",
      "items that were created, and tries again those whose problem may be gone: 403, 429, 503 and `quota_exceeded`.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    limits: ["snapshots_create", "snapshots_create_hour"],
    idempotency: "resumed",
    body: closed({ items: Type.Array(newSnapshot, { minItems: 1, maxItems }) }, { title: "NewSnapshots" }),
    replies: { 200: { description: "The result of each item, in their order.", body: batchResults } },
  },
  async (ctx, { principal, language, body, earlier }) => {
    const before = earlier === null ? [] : (earlier as Static<typeof batchResults>).results;
    const results = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const made: Result[] = [];
      for (const [index, wanted] of body.items.entries()) {
        const known = before[index];
        const isSettled = known !== undefined && !mayBeGone(known);
        made.push(isSettled ? known : await createOne(ctx, tx, { principal, language, wanted }, index));
      }
      return made;
    });
    return { status: 200, body: { results } };
  },
);

/** Whether an item failed for a reason that may be gone: what no answer is kept for, and a limit that falls by itself. */
function mayBeGone({ status, problem }: Result): boolean {
  return status === 403 || status === 429 || status >= 500 || problem?.code === "quota_exceeded";
}

/** Makes one snapshot. A refusal undoes what was done for it alone. */
async function createOne(
  { random }: Ctx,
  tx: Tx,
  caller: AccountCaller & { readonly wanted: NewUpload },
  index: number,
): Promise<Result> {
  const { principal, language } = caller;
  try {
    const made = await tx.within(rowAccessOf(principal), (inner) => createQueued(inner, random, caller));
    const shown = showSnapshot(made.record, { language, seesStorage: seesStorage(principal) });
    return { index, status: created, snapshot: { ...shown, source_created: made.sourceCreated } };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const problem = problemOf(error, language, index);
    return { index, status: problem.status, problem };
  }
}

function problemOf({ code, extras }: Problem, language: Language, index: number): Static<typeof batchProblem> {
  const { status, title, detail } = problems[code];
  const errors = extras.errors?.map((each) => ({ ...each, pointer: `/items/${index}${each.pointer}` }));
  return { status, code, title: title[language], detail: detail[language], ...(errors && { errors }) };
}
