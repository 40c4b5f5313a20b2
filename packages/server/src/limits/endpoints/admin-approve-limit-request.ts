/** `POST /v1/admin/rate-limit-requests/{id}/approve` */

import { decideOperation } from "../staff-changes.ts";

export const adminApproveLimitRequest = decideOperation("approved");
