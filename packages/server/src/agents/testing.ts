/** Agents for tests: device grants with a signing key that they register over HTTP. */

import assert from "node:assert/strict";
import { type Signer, signerFromSeed } from "@emanet/engine";
import { agentClientId } from "../oauth/index.ts";
import { type Bearer, tokenFor } from "../testing/accounts.ts";
import type { Sent, TestService } from "../testing/running.ts";
import { registrationText } from "./rules.ts";

/** A signing key from a number. */
export function keyOf(seed: number): Signer {
  return signerFromSeed(Buffer.alloc(32, seed));
}

export type TestBearer = Awaited<ReturnType<typeof tokenFor>>;

/** The token of a device grant. */
export function deviceGrant(service: TestService, accountId: string, more: Bearer = {}): Promise<TestBearer> {
  return tokenFor(service, { as: "grant", kind: "agent", clientId: agentClientId, accountId, ...more });
}

/** The key and the signature with which a writer registers it. */
export function proofOf(
  accountId: string,
  writer: { readonly kind: "agent" | "client"; readonly id: string },
  key: Signer,
) {
  const signature = key.sign("agent", registrationText(accountId, writer, key.publicKey));
  return {
    public_key: Buffer.from(key.publicKey).toString("base64"),
    signature: signature.toString("base64"),
  };
}

export interface TestAgent extends TestBearer {
  readonly id: string;
  readonly key: Signer;
  readonly target: string;
  /** Per vault what the agent writes with. */
  readonly keys: readonly {
    readonly vault_id: string;
    readonly registration: string;
    readonly epoch: number;
    readonly public_key: string;
    readonly block_id_key: string;
  }[];
}

/** A device grant that has registered itself. */
export async function makeAgent(
  service: TestService,
  accountId: string,
  more: { readonly bearer?: Bearer; readonly seed?: number; readonly json?: object } = {},
): Promise<TestAgent> {
  const bearer = await deviceGrant(service, accountId, more.bearer);
  const key = keyOf(more.seed ?? 1);
  const proof = proofOf(accountId, { kind: "agent", id: bearer.sessionId }, key);
  const json = { name: "Sunucu", ...proof, ...more.json };
  const made = await service.send("POST", "/v1/agents", { json, headers: bearer.auth });
  assert.equal(made.status, 201, made.body.toString());
  const { agent, keys } = made.json as unknown as { agent: { id: string }; keys: TestAgent["keys"] };
  return { ...bearer, id: agent.id, key, keys, target: `/v1/agents/${agent.id}` };
}

export function codeOf({ status, json }: Sent): string {
  return `${status} ${json?.code ?? ""}`.trim();
}
