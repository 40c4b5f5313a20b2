/** Mails about the audit trail, to staff. */

import { paragraphs } from "./paragraphs.ts";

type BadChain = { chain: string; seq: string; finding: string };

export const auditTemplates = {
  audit_check_failed_staff: {
    tr: (v: BadChain) => ({
      subject: "Denetim izinde bozuk kayıt",
      text: paragraphs(
        "Gece denetimi, denetim izinde değiştirilmiş, silinmiş ya da eklenmiş bir kayıt buldu.",
        `Zincir: ${v.chain}\nİlk bozuk kayıt: ${v.seq}\nBulgu: ${v.finding}`,
        "Veritabanına elle müdahale edilmiş olabilir. Zincir düzelene kadar her gece bir ileti gönderilir.",
      ),
    }),
    en: (v: BadChain) => ({
      subject: "A bad record in the audit trail",
      text: paragraphs(
        "The nightly self-check found a record of the audit trail that was changed, deleted or put in.",
        `Chain: ${v.chain}\nFirst bad record: ${v.seq}\nFinding: ${v.finding}`,
        "Somebody may have changed the database by hand. A mail is sent every night until the chain is good again.",
      ),
    }),
  },
} as const;
