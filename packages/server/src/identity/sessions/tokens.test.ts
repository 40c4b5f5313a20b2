import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { systemRandom } from "../../kernel/clock.ts";
import { testClock } from "../../testing/clock.ts";
import { createTokens } from "./tokens.ts";

/** Tokens of one key, which the test can withdraw. */
function tokensOfOneKey() {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  let isKnown = true;
  const clock = testClock();
  const tokens = createTokens({
    keys: {
      signer: async () => ({ kid: "only-key", privateKey: pair.privateKey }),
      verifier: async () => (isKnown ? pair.publicKey : undefined),
      jwks: async () => ({ keys: [] }),
    },
    clock,
    random: systemRandom,
    publicUrl: () => "https://emanet.example",
  });
  const content = {
    subject: "someone",
    sessionId: "0199c0de-0000-7000-8000-000000000001",
    clientId: "a-client",
    accountId: null,
    scopes: [],
    amr: [],
    authTime: clock.now(),
  };
  const withdraw = () => {
    isKnown = false;
  };
  return { tokens, clock, issue: async () => (await tokens.issue(content)).token, withdraw };
}

test("a token that was accepted gives the same claims again, without a second look at its signature", async () => {
  const { tokens, issue } = tokensOfOneKey();
  const token = await issue();
  const [first, again] = [await tokens.check(token), await tokens.check(token)];
  assert.ok(first.kind === "valid" && again.kind === "valid");
  assert.equal(first.claims, again.claims);
});

test("a token that was accepted is refused when its key is withdrawn, and stays refused", async () => {
  const { tokens, issue, withdraw } = tokensOfOneKey();
  const token = await issue();
  assert.equal((await tokens.check(token)).kind, "valid");
  withdraw();
  for (let turn = 0; turn < 2; turn++) assert.equal((await tokens.check(token)).kind, "invalid");
});

test("a token that was accepted expires on its second, and is refused while the clock is before its issue", async () => {
  const { tokens, issue, clock } = tokensOfOneKey();
  const token = await issue();
  assert.equal((await tokens.check(token)).kind, "valid");
  clock.advance(-10_000);
  assert.equal((await tokens.check(token)).kind, "invalid");
  clock.advance(10_000);
  assert.equal((await tokens.check(token)).kind, "valid");
  clock.advance(899_000);
  assert.equal((await tokens.check(token)).kind, "valid");
  clock.advance(1_000);
  assert.equal((await tokens.check(token)).kind, "expired");
});
