/** `POST /v1/sandbox/clock`: moves the application's clock forwards; only in profile `sandbox`, only for staff. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, timestamp } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";

/** Ten years: retention locks are the longest thing that a test waits for. */
const maxAdvanceSeconds = 10 * 366 * 24 * 60 * 60;

import { advanceClock } from "../store.ts";

export const moveClock = endpoint(
  {
    id: "sandbox.move_clock",
    method: "POST",
    path: "/v1/sandbox/clock",
    tag: "sandbox",
    summary: "Move the clock",
    description:
      "Profile `sandbox` only. Moves the application's clock forwards for every process on the database; jobs that become due run. 0 shows the time.",
    access: { kind: "staff" },
    idempotency: "none",
    body: closed(
      {
        advance_s: Type.Integer({ format: "int32", minimum: 0, maximum: maxAdvanceSeconds, description: "Seconds." }),
      },
      { title: "ClockMove" },
    ),
    replies: {
      200: {
        description: "The new time.",
        body: closed({ now: timestamp("The application's time.") }, { title: "ClockTime" }),
      },
    },
    errors: ["not_found"],
  },
  async (ctx, { body }) => {
    if (ctx.settings.profile !== "sandbox") throw new Problem("not_found");
    await ctx.tx({ kind: "platform" }, async (tx) => {
      await advanceClock(tx, body.advance_s * 1000);
      tx.audit({ action: "sandbox.clock_moved", targets: [], metadata: { advance_s: body.advance_s } });
    });
    await ctx.clock.sync?.();
    return { status: 200, body: { now: ctx.clock.now().toISOString() } };
  },
);
