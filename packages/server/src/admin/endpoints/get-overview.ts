/** `GET /v1/admin/overview`: accounts and applications by state. */

import { countAccountsByState } from "../../accounts/index.ts";
import { countApplicationsByStatus } from "../../applications/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";

const counts = Type.Record(
  Type.String({ maxLength: 32, pattern: "^[a-z_]+$" }),
  Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  { maxProperties: 20, additionalProperties: false },
);

export const getOverview = endpoint(
  {
    id: "admin.overview",
    method: "GET",
    path: "/v1/admin/overview",
    tag: "admin",
    summary: "Read the overview",
    description: "Accounts and applications by state.",
    access: { kind: "staff" },
    replies: {
      200: {
        description: "The numbers.",
        body: closed({ accounts: counts, applications: counts }, { title: "AdminOverview" }),
      },
    },
  },
  async (ctx) => {
    const body = await ctx.read({ kind: "staff" }, async (tx) => ({
      accounts: { ...(await countAccountsByState(tx)) },
      applications: { ...(await countApplicationsByStatus(tx)) },
    }));
    return { status: 200, body };
  },
);
