/** A running service and clients of it, for the tests of the TypeScript client. */

import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { type Bearer, tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { noSignInLimits } from "../../packages/server/src/testing/people.ts";
import { startTestService, type TestService } from "../../packages/server/src/testing/running.ts";
import { bearerToken, type ClientOptions, createClient, type EmanetClient } from "../../sdks/typescript/src/index.ts";

type Cleanup = Parameters<typeof startTestService>[0];

/** Starts a service whose certificate `fetch` trusts. */
export async function startForClients(cleanup: Cleanup): Promise<TestService> {
  const settings = {
    ...noSignInLimits,
    EMANET_LIMIT_APPLICATIONS: "1000/60",
    EMANET_LIMIT_TOKEN: "1000/60",
  };
  const service = await startTestService(cleanup, { settings });
  setDefaultCACertificates([...getCACertificates("default"), service.ca]);
  return service;
}

export function clientOf(service: TestService, options: Partial<ClientOptions> = {}): EmanetClient {
  return createClient({ baseUrl: service.url, ...options });
}

/** A client with the token of an account's owner, or of another member or client. */
export async function clientAs(service: TestService, wanted: Bearer = {}) {
  const made = await tokenFor(service, wanted);
  const credentials = bearerToken(made.auth.authorization.slice("Bearer ".length));
  return { ...made, client: clientOf(service, { credentials }) };
}
