/** The list of everything that runs in the background. A new task is a line here. */

import {
  applySecondFactorReset,
  mailPasswordReset,
  purgeIdentity,
  sendCode,
  writeSignInFailure,
} from "./identity/index.ts";
import { purgeExpiredKeys } from "./kernel/idempotency.ts";
import { recurring } from "./kernel/jobs/index.ts";
import { rotateSigningKeys } from "./keys/index.ts";
import { purgeBans } from "./limits/index.ts";
import { sendMessage } from "./messages/index.ts";
import { purgeOauth } from "./oauth/index.ts";

const hourMs = 60 * 60 * 1000;

export const tasks = [sendMessage, sendCode, mailPasswordReset, applySecondFactorReset, writeSignInFailure];

export const recurrences = [
  recurring(purgeExpiredKeys, { everyMs: hourMs }),
  recurring(purgeIdentity, { everyMs: hourMs }),
  recurring(purgeOauth, { everyMs: hourMs }),
  recurring(rotateSigningKeys, { everyMs: hourMs }),
  recurring(purgeBans, { everyMs: 24 * hourMs }),
];
