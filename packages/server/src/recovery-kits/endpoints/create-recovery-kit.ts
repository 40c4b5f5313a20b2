/** `POST /v1/vaults/{id}/recovery-kits`: orders the decryption keys of a vault. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { lockVault, requireVault } from "../../vaults/index.ts";
import { mailAboutKit } from "../mail-about-kit.ts";
import { kitStateAt, kitWaitMs } from "../rules.ts";
import { kitShape, ownersOnly, showKit } from "../shapes.ts";
import { endKit, insertKit, lockWaitingKit } from "../store.ts";

export const createRecoveryKit = endpoint(
  {
    id: "recovery_kits.create",
    method: "POST",
    path: "/v1/vaults/{id}/recovery-kits",
    tag: "vaults",
    summary: "Order a recovery kit",
    description: [
      "A recovery kit has the decryption keys of a vault. With it and a copy of the bucket everything in the vault is restored without this service. It can be",
      "fetched in 24 hours, for seven days (`recovery_kits.download`). Every owner is mailed now, and any owner cancels it. An order that is open already is",
      "answered as it is. Owners only, with a fresh second factor.",
    ].join(" "),
    access: ownersOnly,
    stepUp: true,
    params: closed({ id: uuid("Id of the vault.") }),
    replies: { 202: { description: "The order.", body: kitShape } },
    errors: ["not_found"],
  },
  async (ctx, { principal, params }) => {
    const { accountId, memberId } = principal;
    const kit = await ctx.tx(rowAccessOf(principal), async (tx) => {
      // Locked: of two orders at once the second finds the first.
      const { id: vaultId } = await requireVault(principal, lockVault(tx, accountId, params.id));
      const open = await lockWaitingKit(tx, accountId, vaultId);
      if (open !== undefined && kitStateAt(open, tx.now) !== "expired") return open;
      if (open !== undefined) await endKit(tx, open.id, { state: "canceled", by: memberId, epoch: null });
      const readyAt = new Date(tx.now.getTime() + kitWaitMs);
      const made = await insertKit(tx, { id: ctx.random.uuid(), accountId, vaultId, createdBy: memberId, readyAt });
      const targets = [
        { type: "recovery_kit", id: made.id },
        { type: "vault", id: vaultId },
      ];
      tx.audit({ action: "recovery_kit.ordered", targets });
      await mailAboutKit(tx, ctx.random, "recovery_kit_ordered", made, memberId);
      return made;
    });
    return { status: 202, body: showKit(ctx.clock.now())(kit) };
  },
);
