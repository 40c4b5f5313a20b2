/** What identity runs in the background. */

import { recurring } from "../kernel/jobs/index.ts";
import { writeSignInFailure } from "./failures.ts";
import { purgeIdentity } from "./jobs.ts";
import { mailPasswordReset } from "./password-reset.ts";
import { applySecondFactorReset } from "./second-factor-reset.ts";
import { sendCode } from "./send-code.ts";

const hourMs = 60 * 60 * 1000;

export const identityTasks = [sendCode, mailPasswordReset, applySecondFactorReset, writeSignInFailure];

export const identityRecurrences = [recurring(purgeIdentity, { everyMs: hourMs })];
