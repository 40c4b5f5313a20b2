/** The roles of an account's members, widest first. */
export const memberRoles = ["owner", "manager", "operator", "viewer", "auditor"] as const;
