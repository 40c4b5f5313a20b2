/** People besides the one of the first run: members of other roles, and staff. */

import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { type Bearer, tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { type Office, type OpenedPage, openDashboard } from "./testing.ts";

/** A page in the name of a member who never signed in: renewals get the member's token. */
export async function openAs(browser: Browser, office: Office, wanted: Bearer): Promise<OpenedPage> {
  const opened = await openDashboard(browser, office);
  const { auth } = await tokenFor(office.service, { accountId: office.accountId, ...wanted });
  const token = auth.authorization.slice("Bearer ".length);
  await opened.page.addInitScript(`localStorage.setItem("emanet.session", "1")`);
  await opened.page.route("**/v1/auth/refresh", (route) =>
    route.fulfill({ json: { access_token: token, token_type: "Bearer", expires_in: 900 } }),
  );
  return opened;
}

/** The same service, with staff to sign in. */
export async function staffOf(office: Office): Promise<Office> {
  const { staff } = await readFirstRun(office.service.dataDir);
  return { ...office, login: staff };
}

/** A program of the office, which backs up a source of its own. Tokens of now: the office's own expires when time passes. */
export interface OfficeProgram {
  auth(): Promise<{ readonly authorization: string }>;
  backUp(vaultId: string, files: Readonly<Record<string, string>>): Promise<void>;
}

export function programOf({ service, accountId }: Office): OfficeProgram {
  let clientId: string | null = null;
  const auth = async () => {
    const bearer = { as: "client", kind: "api", accountId, ...(clientId !== null && { clientId }) } as const;
    const made = await tokenFor(service, bearer);
    clientId = made.clientId;
    return made.auth;
  };
  return {
    auth,
    async backUp(vaultId, files) {
      const query = new URLSearchParams({ source: "Logo", vault_id: vaultId });
      const headers = { ...(await auth()), "content-type": "application/x-tar" };
      const sent = await service.send("POST", `/v1/snapshots?${query}`, { body: tarOf(files), headers });
      assert.equal(sent.status, 201, sent.body.toString());
    },
  };
}
