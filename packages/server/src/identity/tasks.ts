/** What identity runs in the background. */

import { recurring } from "../kernel/jobs/index.ts";
import { sendCode } from "./factors/index.ts";
import { purgeIdentity } from "./jobs.ts";
import { applySecondFactorReset, mailPasswordReset } from "./recovery/index.ts";
import { writeSignInFailure } from "./sessions/index.ts";

const hourMs = 60 * 60 * 1000;

export const identityTasks = [sendCode, mailPasswordReset, applySecondFactorReset, writeSignInFailure];

export const identityRecurrences = [recurring(purgeIdentity, { everyMs: hourMs })];
