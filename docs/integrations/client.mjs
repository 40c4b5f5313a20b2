// A small client for the recipes: signs in as an OAuth client, repeats what may be repeated, waits as long as the service asks.

import { readFileSync } from "node:fs";
import https from "node:https";

const { EMANET_URL, EMANET_CA_FILE, EMANET_CLIENT_ID, EMANET_CLIENT_SECRET } = process.env;
if (!EMANET_URL || !EMANET_CLIENT_ID || !EMANET_CLIENT_SECRET)
  throw new Error("EMANET_URL, EMANET_CLIENT_ID and EMANET_CLIENT_SECRET are needed");

const ca = EMANET_CA_FILE ? readFileSync(EMANET_CA_FILE) : undefined;
const agent = new https.Agent({ keepAlive: true, ca });

/** Attempts of a call. A service that restarts is back in less. */
const maxAttempts = 6;

let token = null;

/** Calls the API. Returns status, headers and body; throws what a person must look at. */
export async function call(method, path, { json, body, headers = {} } = {}) {
  const content = json === undefined ? body : JSON.stringify(json);
  const more = json === undefined ? {} : { "content-type": "application/json" };
  for (let attempt = 1; ; attempt++) {
    token ??= await signIn();
    const answer = await send(method, path, { authorization: `Bearer ${token}`, ...more, ...headers }, content).catch(
      (error) => ({ error }),
    );
    if (answer.status >= 200 && answer.status < 300) return answer;
    if (answer.status === 401) token = null;
    // A lost connection, a limit, a service that is away: the same call again, not before it says.
    const mayPass = answer.error !== undefined || [401, 429, 500, 502, 503, 504].includes(answer.status);
    if (!mayPass || attempt >= maxAttempts)
      throw answer.error ?? new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    const seconds = Number(answer.headers?.["retry-after"] ?? 2 ** attempt / 4);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

async function signIn() {
  const credentials = Buffer.from(
    `${encodeURIComponent(EMANET_CLIENT_ID)}:${encodeURIComponent(EMANET_CLIENT_SECRET)}`,
  ).toString("base64");
  const headers = { authorization: `Basic ${credentials}`, "content-type": "application/x-www-form-urlencoded" };
  const answer = await send("POST", "/oauth2/token", headers, "grant_type=client_credentials");
  if (answer.status !== 200) throw new Error(`the service refuses the client: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body).access_token;
}

function send(method, path, headers, content) {
  return new Promise((resolve, reject) => {
    const length = content === undefined ? {} : { "content-length": Buffer.byteLength(content) };
    const request = https.request(
      new URL(path, EMANET_URL),
      { method, agent, headers: { ...headers, ...length } },
      (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      },
    );
    request.on("error", reject);
    request.end(content);
  });
}
