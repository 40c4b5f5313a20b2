/** The list of everything that runs in the background. A new task is a line here. */

import { purgeExpiredKeys } from "./kernel/idempotency.ts";
import { recurring } from "./kernel/jobs/index.ts";
import { sendMessage } from "./messages/index.ts";

const hourMs = 60 * 60 * 1000;

export const tasks = [sendMessage];

export const recurrences = [recurring(purgeExpiredKeys, { everyMs: hourMs })];
