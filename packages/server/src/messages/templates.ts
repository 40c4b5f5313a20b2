/**
 * The texts of all mails and SMS, in Turkish and English.
 *
 * Nouns: a *template* is a name with one text per language; its *values* replace the placeholders of the text.
 *
 * Invariants
 * - A template without one of the languages does not compile.
 * - Values are cleaned before they are used: one line, no control characters, bounded length. So a value cannot add a
 *   header, a paragraph or a hidden direction mark.
 * - A mail is a text and a page with the same words (`mail-html.ts`).
 * - Mails to applicants contain no text of the request. Anybody can type another person's address, and the service must
 *   not send a stranger's words to it.
 */

import { auditTemplates } from "./audit-templates.ts";
import { mailHtml } from "./mail-html.ts";
import { paragraphs } from "./paragraphs.ts";
import { retentionTemplates } from "./retention-templates.ts";
import { securityTemplates } from "./security-changes.ts";
import { webhookTemplates } from "./webhook-templates.ts";

export const languages = ["tr", "en"] as const;
export type Language = (typeof languages)[number];

type Values = Readonly<Record<string, string>>;

interface MailText {
  readonly subject: string;
  readonly text: string;
}

type InEveryLanguage<V extends Values, Text> = Readonly<Record<Language, (values: V) => Text>>;

const packageNames = {
  starter: { tr: "Başlangıç", en: "Starter" },
  professional: { tr: "Profesyonel", en: "Professional" },
  accountant: { tr: "SMMM", en: "Accountant" },
  corporate: { tr: "Kurumsal", en: "Corporate" },
} as const satisfies Record<string, Record<Language, string>>;

/** The packages of the service. */
export type PackageName = keyof typeof packageNames;

const kindNames = {
  accounting_office: { tr: "Mali müşavirlik bürosu", en: "Accounting office" },
  company: { tr: "Şirket", en: "Company" },
} as const satisfies Record<string, Record<Language, string>>;

/** The kinds of applicants. */
export type ApplicantKind = keyof typeof kindNames;

const bannedNames = {
  client: { tr: "Hesabınızın bir uygulaması", en: "a program of your account" },
  session: { tr: "Hesabınızın bir oturumu", en: "a session of your account" },
  address: { tr: "Bir ağ adresi", en: "a network address" },
} as const satisfies Record<string, Record<Language, string>>;

/** The kinds of banned subjects. */
export type BanKind = keyof typeof bannedNames;

const mailTemplates = {
  ...securityTemplates,
  ...auditTemplates,
  ...retentionTemplates,
  ...webhookTemplates,
  application_received_staff: mailTemplate<{ application_id: string; kind: ApplicantKind; package: PackageName }>({
    tr: (v) => ({
      subject: `Yeni başvuru: ${packageNames[v.package].tr}`,
      text: paragraphs(
        "Yeni bir başvuru geldi.",
        `Başvuru: ${v.application_id}\nTür: ${kindNames[v.kind].tr}\nPaket: ${packageNames[v.package].tr}`,
        "Ayrıntıları yönetim ekranında görebilir, kararı orada verebilirsiniz. Bu ileti kişisel bilgi içermez.",
      ),
    }),
    en: (v) => ({
      subject: `New application: ${packageNames[v.package].en}`,
      text: paragraphs(
        "A new application has arrived.",
        `Application: ${v.application_id}\nKind: ${kindNames[v.kind].en}\nPackage: ${packageNames[v.package].en}`,
        "You can see the details and decide in the administration pages. This mail contains no personal data.",
      ),
    }),
  }),
  application_received: mailTemplate<{ application_id: string; link: string }>({
    tr: (v) => ({
      subject: "Başvurunuzu aldık",
      text: paragraphs(
        "Merhaba,",
        "Emanet başvurunuz bize ulaştı. Başvuruyu inceleyip sonucu bu adrese yazacağız; şimdi yapmanız gereken bir şey yok.",
        `Başvuru numaranız: ${v.application_id}`,
        `Başvurunuzu geri çekmek isterseniz: ${v.link}`,
        "Bu başvuruyu siz yapmadıysanız bu iletiyi yok sayabilirsiniz: onaydan önce hesap açılmaz.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "We have received your application",
      text: paragraphs(
        "Hello,",
        "Your application to Emanet has reached us. We will review it and write to this address; there is nothing you need to do now.",
        `Your application number: ${v.application_id}`,
        `To withdraw your application: ${v.link}`,
        "If you did not apply, you can ignore this mail: no account is opened before approval.",
        "Emanet",
      ),
    }),
  }),
  application_rejected: mailTemplate<{ application_id: string; reason: string }>({
    tr: (v) => ({
      subject: "Başvurunuz hakkında",
      text: paragraphs(
        "Merhaba,",
        "Emanet başvurunuzu inceledik ve şu anda onaylayamıyoruz.",
        `Gerekçe: ${v.reason}`,
        `Başvuru numaranız: ${v.application_id}`,
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "About your application",
      text: paragraphs(
        "Hello,",
        "We have reviewed your application to Emanet and cannot approve it at this time.",
        `Reason: ${v.reason}`,
        `Your application number: ${v.application_id}`,
        "Emanet",
      ),
    }),
  }),
  enrolment: mailTemplate<{ link: string }>({
    tr: (v) => ({
      subject: "Emanet hesabınızı kurun",
      text: paragraphs(
        "Merhaba,",
        "Emanet'te sizin için bir hesap açıldı. Parolanızı, doğrulama uygulamanızı ve telefonunuzu şu bağlantıyla tanımlayın:",
        v.link,
        "Bağlantı bir kez ve 7 gün geçerlidir. Kimseyle paylaşmayın.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "Set up your Emanet account",
      text: paragraphs(
        "Hello,",
        "An account has been opened for you at Emanet. Set your password, your authenticator and your phone with this link:",
        v.link,
        "The link works once, for 7 days. Do not share it with anyone.",
        "Emanet",
      ),
    }),
  }),
  password_reset: mailTemplate<{ link: string }>({
    tr: (v) => ({
      subject: "Parola sıfırlama",
      text: paragraphs(
        "Merhaba,",
        "Emanet parolanızı yenilemek için şu bağlantıyı kullanın:",
        v.link,
        "Bağlantı bir kez ve 1 saat geçerlidir. Bunu siz istemediyseniz bir şey yapmanız gerekmez: parolanız değişmedi.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "Password reset",
      text: paragraphs(
        "Hello,",
        "Use this link to set a new Emanet password:",
        v.link,
        "The link works once, for one hour. If you did not request it, you do not need to do anything: your password has not changed.",
        "Emanet",
      ),
    }),
  }),
  new_device: mailTemplate<{ at: string }>({
    tr: (v) => ({
      subject: "Yeni bir cihazdan oturum açıldı",
      text: paragraphs(
        "Merhaba,",
        `Emanet hesabınızda ${v.at} (UTC) tarihinde yeni bir cihazdan oturum açıldı.`,
        "Bu siz değilseniz parolanızı değiştirin ve oturumlarınızı kapatın.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "Sign-in from a new device",
      text: paragraphs(
        "Hello,",
        `There was a sign-in to your Emanet account from a new device at ${v.at} (UTC).`,
        "If this was not you, change your password and end your sessions.",
        "Emanet",
      ),
    }),
  }),
  ban_set: mailTemplate<{ ban_id: string; kind: BanKind; until: string }>({
    tr: (v) => ({
      subject: "Erişim durduruldu",
      text: paragraphs(
        "Merhaba,",
        `${bannedNames[v.kind].tr} için erişim durduruldu.`,
        v.until === "" ? "Ekibimiz kaldırana kadar geçerlidir." : `Bitiş: ${v.until} (UTC)`,
        `Kayıt: ${v.ban_id}`,
        "Nedenini denetim kaydında görebilirsiniz. Kısa sürede çok sayıda farklı adres denendiğinde erişim otomatik olarak durdurulur. Bir yanlışlık olduğunu düşünüyorsanız kayıt numarasıyla bize yazın.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "Access stopped",
      text: paragraphs(
        "Hello,",
        `Access was stopped for ${bannedNames[v.kind].en}.`,
        v.until === "" ? "It lasts until our staff lift it." : `Until: ${v.until} (UTC)`,
        `Record: ${v.ban_id}`,
        "The audit trail shows the reason. Access stops automatically when very many different addresses are tried in a short time. If you think that this is a mistake, write to us with the record number.",
        "Emanet",
      ),
    }),
  }),
  snapshot_deleted: mailTemplate<{ snapshot_id: string; source: string; made_at: string; by: string; until: string }>({
    tr: (v) => ({
      subject: "Bir yedek silindi",
      text: paragraphs(
        "Merhaba,",
        `${v.by} adlı üye bir yedeği sildi.`,
        `Kaynak: ${v.source}\nYedeğin tarihi: ${v.made_at} (UTC)\nYedek: ${v.snapshot_id}`,
        `Silme işlemi ${v.until} (UTC) tarihine kadar geri alınabilir. Bu tarihten sonra içerik kalıcı olarak silinir.`,
        "Bunu beklemiyorsanız yedeği bu süre içinde geri alın ve üyelerinizin erişimini kontrol edin.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "A snapshot was deleted",
      text: paragraphs(
        "Hello,",
        `${v.by} deleted a snapshot.`,
        `Source: ${v.source}\nMade at: ${v.made_at} (UTC)\nSnapshot: ${v.snapshot_id}`,
        `The deletion can be undone until ${v.until} (UTC). After that the content is removed for good.`,
        "If you did not expect this, undelete the snapshot within this time and check the access of your members.",
        "Emanet",
      ),
    }),
  }),
  verification_failed_staff: mailTemplate<{
    snapshot_id: string;
    account_id: string;
    writer_kind: string;
    writer_id: string;
  }>({
    tr: (v) => ({
      subject: "Bir yedeğin içeriği doğrulanamadı",
      text: paragraphs(
        "Depodaki içerik, yazan programın bildirdiğinden farklı. Program yanlış bildirmiş ya da depo veri kaybetmiş olabilir.",
        `Yedek: ${v.snapshot_id}\nHesap: ${v.account_id}\nYazan: ${v.writer_kind} ${v.writer_id}`,
        "Aynı yazan için günde bir ileti gönderilir. Tümünü yönetim ekranında, yedekler listesinde görebilirsiniz (failure=verification_failed).",
      ),
    }),
    en: (v) => ({
      subject: "The content of a snapshot could not be verified",
      text: paragraphs(
        "What is stored differs from what its writer said. The program may have lied, or the store may have lost data.",
        `Snapshot: ${v.snapshot_id}\nAccount: ${v.account_id}\nWriter: ${v.writer_kind} ${v.writer_id}`,
        "One mail a day is sent per writer. The list of snapshots in the administration pages has all of them (failure=verification_failed).",
      ),
    }),
  }),
  limit_requested_staff: mailTemplate<{ request_id: string; account_id: string; policy: string }>({
    tr: (v) => ({
      subject: "Özel hız sınırı isteği",
      text: paragraphs(
        "Bir hesap başka bir hız sınırı istiyor.",
        `İstek: ${v.request_id}\nHesap: ${v.account_id}\nSınır: ${v.policy}`,
        "Gerekçeyi yönetim ekranında görebilir, kararı orada verebilirsiniz.",
      ),
    }),
    en: (v) => ({
      subject: "Request for a custom limit",
      text: paragraphs(
        "An account requests another limit.",
        `Request: ${v.request_id}\nAccount: ${v.account_id}\nLimit: ${v.policy}`,
        "You can see the reason and decide in the administration pages.",
      ),
    }),
  }),
  limit_decided: mailTemplate<{ policy: string; decision: "approved" | "rejected" }>({
    tr: (v) => ({
      subject: v.decision === "approved" ? "Hız sınırı isteğiniz onaylandı" : "Hız sınırı isteğiniz reddedildi",
      text: paragraphs(
        "Merhaba,",
        v.decision === "approved"
          ? `"${v.policy}" sınırı için isteğiniz onaylandı; bir sonraki istekten başlayarak geçerlidir.`
          : `"${v.policy}" sınırı için isteğiniz reddedildi; sınır değişmedi.`,
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: v.decision === "approved" ? "Your limit request was approved" : "Your limit request was rejected",
      text: paragraphs(
        "Hello,",
        v.decision === "approved"
          ? `Your request for the limit "${v.policy}" was approved. It applies from the next request on.`
          : `Your request for the limit "${v.policy}" was rejected. The limit has not changed.`,
        "Emanet",
      ),
    }),
  }),
  session_reused: mailTemplate<{ at: string }>({
    tr: (v) => ({
      subject: "Bir oturumunuz güvenlik nedeniyle kapatıldı",
      text: paragraphs(
        "Merhaba,",
        `Eski bir oturum çerezi ${v.at} (UTC) tarihinde yeniden kullanıldığı için o oturum kapatıldı. Çerez kopyalanmış olabilir.`,
        "Yeniden oturum açabilirsiniz. Şüphelenirseniz parolanızı değiştirin.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "One of your sessions was ended for security reasons",
      text: paragraphs(
        "Hello,",
        `An old session cookie was used again at ${v.at} (UTC), so that session was ended. The cookie may have been copied.`,
        "You can sign in again. If you are in doubt, change your password.",
        "Emanet",
      ),
    }),
  }),
  programs_in_review: mailTemplate<{ member: string; count: string }>({
    tr: (v) => ({
      subject: "Programlar incelemenizi bekliyor",
      text: paragraphs(
        "Merhaba,",
        `${v.member} adlı kişinin yetkisi değişti. Bu kişinin kurduğu ya da izin verdiği ${v.count} program artık yalnızca yedek yazabiliyor. Bu programların diğer yetkileri durduruldu.`,
        "Yedekleme devam ediyor. Lütfen programlar sayfasında her programı inceleyin: tanıdıklarınızı onaylayın, tanımadıklarınızı kaldırın.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "Programs are waiting for your review",
      text: paragraphs(
        "Hello,",
        `The access of ${v.member} changed. ${v.count} program(s) that they added or allowed can now only write backups. All other rights of these programs are suspended.`,
        "Backups continue. Please review each program on the programs page: confirm the ones you know and remove the others.",
        "Emanet",
      ),
    }),
  }),
  second_factor_reset: mailTemplate<{ link: string }>({
    tr: (v) => ({
      subject: "Doğrulama uygulamanızı yeniden kurun",
      text: paragraphs(
        "Merhaba,",
        "Doğrulama uygulamanız sıfırlandı. Yenisini parolanızla birlikte şu bağlantıdan kurun:",
        v.link,
        "Bağlantı bir kez ve 7 gün geçerlidir.",
        "Emanet",
      ),
    }),
    en: (v) => ({
      subject: "Set up your authenticator again",
      text: paragraphs(
        "Hello,",
        "Your authenticator was reset. Set up a new one, together with your password, with this link:",
        v.link,
        "The link works once, for 7 days.",
        "Emanet",
      ),
    }),
  }),
};

const smsTemplates = {
  otp_code: smsTemplate<{ code: string; minutes: string }>({
    tr: (v) => `Emanet doğrulama kodunuz: ${v.code}. ${v.minutes} dakika geçerlidir. Kodu kimseyle paylaşmayın.`,
    en: (v) => `Your Emanet code: ${v.code}. Valid for ${v.minutes} minutes. Do not share it with anyone.`,
  }),
};

export type MailTemplateName = keyof typeof mailTemplates;
export type SmsTemplateName = keyof typeof smsTemplates;

/** The values of a mail template. */
export type MailValues<Name extends MailTemplateName> = Parameters<(typeof mailTemplates)[Name]["tr"]>[0];
/** The values of an SMS template. */
export type SmsValues<Name extends SmsTemplateName> = Parameters<(typeof smsTemplates)[Name]["tr"]>[0];

/** A mail as text and as a page with the same words. */
export interface RenderedMail extends MailText {
  readonly html: string;
}

/** @example renderMail("application_received", "tr", { application_id }) */
export function renderMail<Name extends MailTemplateName>(
  template: Name,
  language: Language,
  values: MailValues<Name>,
): RenderedMail {
  const render = mailTemplates[template][language] as (values: Values) => MailText;
  const clean = cleaned(values);
  const { subject, text } = render(clean);
  return { subject, text, html: mailHtml({ language, subject, text, link: clean.link }) };
}

/** Every template, for tests. */
export const mailTemplateNames = Object.keys(mailTemplates) as readonly MailTemplateName[];

/** @example renderSms("otp_code", "tr", { code, minutes: "5" }) */
export function renderSms<Name extends SmsTemplateName>(
  template: Name,
  language: Language,
  values: SmsValues<Name>,
): string {
  const render = smsTemplates[template][language] as (values: Values) => string;
  return render(cleaned(values));
}

function mailTemplate<V extends Values>(texts: InEveryLanguage<V, MailText>): InEveryLanguage<V, MailText> {
  return texts;
}

function smsTemplate<V extends Values>(texts: InEveryLanguage<V, string>): InEveryLanguage<V, string> {
  return texts;
}

/** Longer than all ids and names that we use; a longer value is a mistake and would make an SMS expensive. */
const valueLengthMax = 200;

function cleaned(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, oneLine(value)]));
}

/** Control, format (direction marks) and line-separating characters become one space. */
function oneLine(value: string): string {
  return value
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, valueLengthMax);
}
