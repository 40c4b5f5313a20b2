/** The events of audit shares, emitted in the commit that makes or ends one. */

import { eventType } from "../kernel/events.ts";
import { closed, text, timestamp, uuid } from "../kernel/http/schema.ts";

export const auditShareCreated = eventType({
  name: "audit.share_created",
  summary: "An audit share was created",
  description: "An outside auditor can read a part of the audit trail until `expires_at`.",
  fields: closed(
    { share_id: uuid("The share."), expires_at: timestamp("Until when it can be read.") },
    { title: "AuditShareCreated" },
  ),
});

export const auditShareRevoked = eventType({
  name: "audit.share_revoked",
  summary: "An audit share was revoked",
  description: "The share cannot be read any more.",
  fields: closed(
    {
      share_id: uuid("The share."),
      reason: text(64, { pattern: "^[a-z][a-z0-9_]*$", description: "Why.", examples: ["revoked"] }),
    },
    { title: "AuditShareRevoked" },
  ),
});

export const auditEvents = [auditShareCreated, auditShareRevoked];
