/** Where the operations of staff are. */

import type { StaffOnlyPath } from "../kernel/http/path-rules.ts";

export const adminPath: StaffOnlyPath = { prefix: "/v1/admin", readPolicy: "admin" };
