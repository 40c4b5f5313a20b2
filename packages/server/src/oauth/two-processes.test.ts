import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { codeAt } from "../identity/factors/totp.ts";
import { sendHttp1 } from "../testing/https.ts";
import type { Sent } from "../testing/running.ts";
import { type Peer, startTwoServices, untilAnswered } from "../testing/two-services.ts";
import { agentClientId } from "./index.ts";
import { decideDevice, pollDevice, post, refresh, type Site, startDevice } from "./testing.ts";

const { peers, firstRun } = await startTwoServices({ after });
const stepMs = 30_000;
/** Codes of neighbouring steps are taken too, each once: enough for three sign-ins without waiting. */
let step = -2;
const nextCode = (secret: string) => {
  step += 1;
  return codeAt(secret, new Date(Date.now() + step * stepMs));
};

function siteOf({ url, ca }: Peer): Site {
  return {
    url: "https://emanet.example",
    nextCode,
    send: async (method, path, { json: _json, http2: _http2, ...call } = {}) => {
      const answer = await sendHttp1(`${url}${path}`, ca, { method, ...call });
      const isJson = /json/.test(answer.headers["content-type"] ?? "") && answer.body.length > 0;
      return { ...answer, json: isJson ? JSON.parse(answer.body.toString()) : undefined };
    },
  };
}

const [one, other] = [siteOf(peers[0]), siteOf(peers[1])];
const both = (send: (site: Site) => Promise<Sent>) =>
  Promise.all(Array.from({ length: 20 }, (_, index) => send(index % 2 === 0 ? one : other)));
const read = (site: Site, token: unknown) =>
  site.send("GET", "/v1/account", { headers: { authorization: `Bearer ${token}` } });
/** An allowed device code. Each page is requested from the other process than the page before. */
async function allowed(): Promise<unknown> {
  const { json } = await startDevice(one);
  let turn = 0;
  const turns: Site = { ...one, send: (...call) => (turn++ % 2 === 0 ? one : other).send(...call) };
  await decideDevice(turns, firstRun.demo, json?.user_code);
  return json?.device_code;
}

describe("two processes on one database", () => {
  test("a device code redeemed twenty times at once on both gives tokens once", async () => {
    const code = await allowed();
    const answers = await both((site) => pollDevice(site, code));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(400)]);
  });

  test("a refresh token used twenty times at once on both has one successor; once that is used, it ends the grant on both", async () => {
    const first = (await pollDevice(other, await allowed())).json;
    const answers = await both((site) => refresh(site, agentClientId, first?.refresh_token));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(answers.map(({ json }) => json?.refresh_token)).size, 1);
    for (const [index, { json }] of answers.entries()) {
      assert.equal((await read(index % 2 === 0 ? other : one, json?.access_token)).status, 200);
    }
    const second = answers[0]?.json;
    const third = (await refresh(other, agentClientId, second?.refresh_token)).json;
    assert.equal((await refresh(one, agentClientId, first?.refresh_token)).json?.error, "invalid_grant");
    assert.equal((await refresh(other, agentClientId, third?.refresh_token)).json?.error, "invalid_grant");
    assert.equal((await read(one, third?.access_token)).status, 401);
    await untilAnswered(401, () => read(other, third?.access_token));
  });

  test("a token revoked on one process is refused there at once, and by the other soon", async () => {
    const tokens = (await pollDevice(one, await allowed())).json;
    assert.equal((await read(other, tokens?.access_token)).status, 200);
    const form = { token: String(tokens?.refresh_token), client_id: agentClientId };
    assert.equal((await post(one, "/oauth2/revoke", form)).status, 200);
    assert.equal((await read(one, tokens?.access_token)).status, 401);
    await untilAnswered(401, () => read(other, tokens?.access_token));
    assert.equal((await refresh(other, agentClientId, tokens?.refresh_token)).json?.error, "invalid_grant");
  });
});
