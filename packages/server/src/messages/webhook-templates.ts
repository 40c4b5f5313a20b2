/** Mails about webhooks that fail, to owners. */

import { paragraphs } from "./paragraphs.ts";

const webhookReasons = {
  warning: { tr: "", en: "" },
  delivery_failed: {
    tr: "Bir olayın altıncı yeniden denemesi de başarısız olduğu için webhook kapatıldı.",
    en: "The webhook was disabled, because the sixth retry of an event failed.",
  },
  gone: {
    tr: "Alıcı 410 (kalıcı olarak kaldırıldı) yanıtı verdiği için webhook kapatıldı.",
    en: "The webhook was disabled, because the receiver answered 410 (gone).",
  },
  creator_lost_access: {
    tr: "Adına gönderim yapılan üye ya da uygulama yetkisini kaybettiği için webhook kapatıldı.",
    en: "The webhook was disabled, because the member or program in whose name it sends lost the right to it.",
  },
} as const;

type WebhookValues = {
  webhook_id: string;
  host: string;
  name: string;
  reason: keyof typeof webhookReasons;
  at: string;
};

function webhookLines(language: "tr" | "en", v: WebhookValues): string {
  const named = v.name === "" ? "" : `${v.name}\n`;
  return language === "tr"
    ? `${named}Adres: ${v.host}\nWebhook: ${v.webhook_id}\nZaman: ${v.at} (UTC)`
    : `${named}Host: ${v.host}\nWebhook: ${v.webhook_id}\nTime: ${v.at} (UTC)`;
}

export const webhookTemplates = {
  webhook_warning: {
    tr: (v: WebhookValues) => ({
      subject: "Bir webhook yanıt vermiyor",
      text: paragraphs(
        "Merhaba,",
        `${v.host} adresine gönderilen bir olay üç kez teslim edilemedi.`,
        webhookLines("tr", v),
        "Yeniden denemeye devam ediyoruz. Altıncı yeniden deneme de başarısız olursa webhook kapatılır; olaylar 30 gün saklanır.",
        "Emanet",
      ),
    }),
    en: (v: WebhookValues) => ({
      subject: "A webhook does not answer",
      text: paragraphs(
        "Hello,",
        `An event for ${v.host} could not be delivered three times.`,
        webhookLines("en", v),
        "We go on trying. If the sixth retry fails too, the webhook is disabled; events are kept for 30 days.",
        "Emanet",
      ),
    }),
  },
  webhook_disabled: {
    tr: (v: WebhookValues) => ({
      subject: "Bir webhook kapatıldı",
      text: paragraphs(
        "Merhaba,",
        webhookReasons[v.reason].tr,
        webhookLines("tr", v),
        "Olaylar 30 gün saklanır. Webhook'u yeniden açtıktan sonra bu süredeki olayları yeniden gönderebilirsiniz.",
        "Emanet",
      ),
    }),
    en: (v: WebhookValues) => ({
      subject: "A webhook was disabled",
      text: paragraphs(
        "Hello,",
        webhookReasons[v.reason].en,
        webhookLines("en", v),
        "Events are kept for 30 days. After enabling the webhook you can send the events of this time again.",
        "Emanet",
      ),
    }),
  },
} as const;
