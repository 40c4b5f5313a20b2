/** All SQL of policies: the table `retention_policies`. */

import { type Selectable, sql } from "kysely";
import type { RetentionPoliciesRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { policyOf } from "./chain.ts";
import { noPolicy, type Policy } from "./rules.ts";

type PolicyRow = Selectable<RetentionPoliciesRow>;

/** What a policy is about. */
export interface PolicyPlace {
  readonly accountId: string;
  readonly vaultId: string;
  /** Null: of the vault. */
  readonly sourceId: string | null;
}

/** Until the transaction ends no other one changes policies of the vault. */
export async function lockPolicies(tx: Tx, vaultId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`retention ${vaultId}`}, 0))`.execute(tx.db);
}

/** All policies of a vault; with row access to its account. */
export async function policiesOf(tx: ReadTx, vaultId: string): Promise<VaultPolicies> {
  const rows = await tx.db.selectFrom("retention_policies").selectAll().where("vault_id", "=", vaultId).execute();
  return new VaultPolicies(rows);
}

export class VaultPolicies {
  readonly #rows: readonly PolicyRow[];

  constructor(rows: readonly PolicyRow[]) {
    this.#rows = rows;
  }

  /** The policy of the vault itself; without rules if it has none. */
  get ofVault(): Policy {
    return this.#row(null) ?? noPolicy;
  }

  /** The source's own policy; null if it has none. */
  ownOf(sourceId: string): Policy | null {
    return this.#row(sourceId);
  }

  /** The policy that holds for a source. */
  for(sourceId: string): Policy {
    return this.#row(sourceId) ?? this.ofVault;
  }

  /** The sources with a policy of their own. */
  get sources(): readonly string[] {
    return this.#rows.flatMap(({ source_id: id }) => id ?? []);
  }

  #row(sourceId: string | null): Policy | null {
    const row = this.#rows.find(({ source_id: id }) => id === sourceId);
    return row === undefined ? null : policyOf(row);
  }
}

export async function setPolicy(tx: Tx, { accountId, vaultId, sourceId }: PolicyPlace, policy: Policy): Promise<void> {
  const row = { account_id: accountId, vault_id: vaultId, source_id: sourceId, ...policy, updated_at: tx.now };
  await tx.db
    .insertInto("retention_policies")
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(["vault_id", "source_id"])
        .doUpdateSet({ ...policy, updated_at: tx.now, version: sql`retention_policies.version + 1` }),
    )
    .execute();
}
