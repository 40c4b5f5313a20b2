/** `PUT /v1/sources/{id}/retention`: changes what a source keeps. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { changes, findSourceById, requireInVault } from "../../vaults/index.ts";
import { changePolicy, readRetention } from "../change-policy.ts";
import { lockPolicies } from "../policy-store.ts";
import { policyBody, policyOfBody, retentionShape } from "../shapes.ts";

export const setSourceRetention = endpoint(
  {
    id: "sources.set_retention",
    method: "PUT",
    path: "/v1/sources/{id}/retention",
    tag: "retention",
    summary: "Change the retention policy of a source",
    description:
      "The source gets a policy of its own in place of its vault's. Rules that are left out are none; without any rule everything stays. A change that could ever remove a snapshot earlier waits 72 hours: it is shown as `pending`, every owner is mailed, and any owner cancels it. Other changes hold at once. `If-Match` with the ETag of the policy is required. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    ifMatch: "required",
    params: closed({ id: uuid("Id of the source.") }),
    body: policyBody,
    replies: {
      200: { description: "It holds from now on.", body: retentionShape },
      202: { description: "It waits 72 hours.", body: retentionShape },
    },
  },
  async (ctx, { principal, params, body, language, requireMatch }) => {
    const { accountId, memberId } = principal;
    const policy = policyOfBody(body, language);
    return ctx.tx(rowAccessOf(principal), async (tx) => {
      const { vault_id: vaultId } = await requireInVault(principal, findSourceById(tx, accountId, params.id));
      const place = { accountId, vaultId, sourceId: params.id };
      await lockPolicies(tx, place.vaultId);
      requireMatch(await readRetention(tx, place));
      const waits = await changePolicy(tx, ctx, place, policy, memberId);
      return { status: waits ? 202 : 200, body: await readRetention(tx, place) } as const;
    });
  },
);
