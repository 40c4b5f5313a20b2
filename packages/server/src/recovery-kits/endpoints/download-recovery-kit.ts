/** `POST /v1/recovery-kits/{id}/download`: the kit itself, once. */

import { writeRecoveryKit } from "@emanet/engine";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { mailAboutKit } from "../mail-about-kit.ts";
import { kitStateAt } from "../rules.ts";
import { kitId, ownersOnly } from "../shapes.ts";
import { endKit, lockKit } from "../store.ts";

/** 36 bytes per key pair, and 1.3 KB of public keys: enough for a hundred pairs. */
const maxKitLength = 8_000;
const kitKeyBytes = 32;

const base64 = (maxLength: number, description: string) =>
  Type.String({ minLength: 4, maxLength, pattern: "^[A-Za-z0-9+/]+=*$", examples: ["RU1BTkVUUjI="], description });

export const downloadRecoveryKit = endpoint(
  {
    id: "recovery_kits.download",
    method: "POST",
    path: "/v1/recovery-kits/{id}/download",
    tag: "vaults",
    summary: "Fetch a recovery kit",
    description: [
      "The decryption keys of all key pairs of the vault, sealed, and the key that opens the seal. Keep the answer offline, as a file. `engine restore latest --repo COPY --kit FILE --target DIR`",
      "restores from a copy of the bucket (docs/RECOVERY-KIT.md). It has no signing key: who has it reads and cannot change anything. Content that is sealed to a key pair of later is not opened by it.",
      "24 hours after the order, once. Owners only, with a fresh second factor; every owner is mailed.",
    ].join(" "),
    access: ownersOnly,
    stepUp: true,
    whileSuspended: true,
    params: kitId,
    replies: {
      200: {
        description: "The kit.",
        body: closed(
          {
            vault_id: uuid("The vault."),
            kit: base64(maxKitLength, "The kit."),
            key: base64(64, "The key that opens it."),
          },
          { title: "RecoveryKitFile" },
        ),
      },
    },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { principal, params }) => {
    const { accountId, memberId } = principal;
    const { vaultId, kit, key } = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const found = await lockKit(tx, accountId, params.id);
      if (found === undefined) throw new Problem("not_found");
      if (kitStateAt(found, tx.now) !== "ready") throw new Problem("state_conflict");
      const vault = await ctx.services.vaults.open(accountId, found.vault_id);
      const kitKey = ctx.random.bytes(kitKeyBytes);
      const written = writeRecoveryKit(vault.ctx, kitKey, vault.keys);
      await endKit(tx, found.id, { state: "delivered", by: memberId, epoch: vault.keys.epoch });
      const targets = [
        { type: "recovery_kit", id: found.id },
        { type: "vault", id: found.vault_id },
      ];
      tx.audit({ action: "recovery_kit.delivered", targets, metadata: { epoch: vault.keys.epoch } });
      await mailAboutKit(tx, ctx.random, "recovery_kit_delivered", found, memberId);
      return { vaultId: found.vault_id, kit: written, key: kitKey };
    });
    return {
      status: 200,
      headers: { "Cache-Control": "no-store" },
      body: { vault_id: vaultId, kit: kit.toString("base64"), key: Buffer.from(key).toString("base64") },
    };
  },
);
