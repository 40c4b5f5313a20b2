/** The error codes of webhooks and events. */

import { type ProblemDefinition, problem } from "../kernel/problems.ts";

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const webhookProblems = {
  events_expired: problem(410, ["Events expired", "Events after this number are no longer kept. Ask without after and compare with your own records."], ["Olayların süresi doldu", "Bu numaradan sonraki olaylar artık saklanmıyor. after olmadan sorun ve kendi kayıtlarınızla karşılaştırın."]),
  webhook_url_blocked: problem(422, ["Webhook address refused", "The address must be https and public."], ["Webhook adresi reddedildi", "Adres https ve herkese açık olmalıdır."]),
} as const satisfies Record<string, ProblemDefinition>;
