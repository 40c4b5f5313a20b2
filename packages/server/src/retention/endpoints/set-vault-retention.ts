/** `PUT /v1/vaults/{id}/retention`: changes what a vault keeps. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { changes, findVault, requireVault } from "../../vaults/index.ts";
import { changePolicy, readRetention } from "../change-policy.ts";
import { lockPolicies } from "../policy-store.ts";
import { policyBody, policyOfBody, retentionShape } from "../shapes.ts";

export const setVaultRetention = endpoint(
  {
    id: "vaults.set_retention",
    method: "PUT",
    path: "/v1/vaults/{id}/retention",
    tag: "retention",
    summary: "Change the retention policy of a vault",
    description:
      "Rules that are left out are none; without any rule everything stays. A change that could ever remove a snapshot earlier waits 72 hours: it is shown as `pending`, every owner is mailed, and any owner cancels it. Other changes hold at once. `If-Match` with the ETag of the policy is required. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    ifMatch: "required",
    params: closed({ id: uuid("Id of the vault.") }),
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
      const { id: vaultId } = await requireVault(principal, findVault(tx, accountId, params.id));
      const place = { accountId, vaultId, sourceId: null };
      await lockPolicies(tx, place.vaultId);
      requireMatch(await readRetention(tx, place));
      const waits = await changePolicy(tx, ctx, place, policy, memberId);
      return { status: waits ? 202 : 200, body: await readRetention(tx, place) } as const;
    });
  },
);
