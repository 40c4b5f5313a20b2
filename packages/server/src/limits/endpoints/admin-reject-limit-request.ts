/** `POST /v1/admin/rate-limit-requests/{id}/reject` */

import { decideOperation } from "../staff-changes.ts";

export const adminRejectLimitRequest = decideOperation("rejected");
