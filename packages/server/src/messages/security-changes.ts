/**
 * Mails about changes of access to an account: one template per change, all with the same layout.
 *
 * A mail says what changed, for which member or program, when and by whom, and what to do if the change is unexpected. It
 * contains the names of members and programs, because the reader needs them to check the change. It contains no other
 * personal data: no address, no phone, no code.
 */

import { paragraphs } from "./paragraphs.ts";

/** The values of these templates. They are cleaned like the values of every template. */
export interface ChangeValues {
  /** `you`: the reader is the person concerned. */
  readonly reader: "you" | "owner";
  /** Name of the member or the program concerned. */
  readonly name: string;
  /** Who made the change: `named` shows `by_name`, `unnamed` shows nothing. */
  readonly by: "you" | "named" | "program" | "support" | "unnamed";
  readonly by_name: string;
  /** A role, or the time at which a change takes effect; else empty. */
  readonly detail: string;
  readonly at: string;
  readonly [more: string]: string;
}

interface Wording {
  readonly subject: string;
  readonly text: string;
}

type RenderChange = (values: ChangeValues) => Wording;
type Language = "tr" | "en";

const roleNames: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  owner: { tr: "hesap sahibi", en: "owner" },
  manager: { tr: "yönetici", en: "manager" },
  operator: { tr: "operatör", en: "operator" },
  viewer: { tr: "izleyici", en: "viewer" },
  auditor: { tr: "denetçi", en: "auditor" },
};

function role(detail: string, language: Language): string {
  return roleNames[detail]?.[language] ?? detail;
}

/** Subject and sentence for the person concerned, then for the owners. */
function personal(your: [string, string], their: [string, (name: string) => string]): RenderChange {
  return ({ reader, name }) =>
    reader === "you" ? { subject: your[0], text: your[1] } : { subject: their[0], text: their[1](name) };
}

const changes = {
  authenticator_changed: {
    tr: personal(
      [
        "Doğrulama uygulamanız değişti",
        "Doğrulama uygulamanız ve kurtarma kodlarınız değişti; diğer oturumlarınız kapatıldı.",
      ],
      [
        "Bir üyenin doğrulama uygulaması değişti",
        (name) => `${name} adlı üyenin doğrulama uygulaması ve kurtarma kodları değişti.`,
      ],
    ),
    en: personal(
      [
        "Your authenticator has changed",
        "Your authenticator and your recovery codes have changed; your other sessions were ended.",
      ],
      [
        "A member's authenticator has changed",
        (name) => `The authenticator and the recovery codes of ${name} have changed.`,
      ],
    ),
  },
  recovery_codes_renewed: {
    tr: personal(
      ["Kurtarma kodlarınız yenilendi", "Kurtarma kodlarınız yenilendi; eski kodlar artık geçersiz."],
      ["Bir üyenin kurtarma kodları yenilendi", (name) => `${name} adlı üyenin kurtarma kodları yenilendi.`],
    ),
    en: personal(
      ["Your recovery codes were renewed", "You have new recovery codes; the old ones no longer work."],
      ["A member's recovery codes were renewed", (name) => `The recovery codes of ${name} were renewed.`],
    ),
  },
  phone_changed: {
    tr: personal(
      ["Telefonunuz değişti", "Hesabınızda kayıtlı telefon numaranız değişti."],
      ["Bir üyenin telefonu değişti", (name) => `${name} adlı üyenin kayıtlı telefonu değişti.`],
    ),
    en: personal(
      ["Your phone has changed", "The phone number of your account has changed."],
      ["A member's phone has changed", (name) => `The phone of ${name} has changed.`],
    ),
  },
  password_changed: {
    tr: personal(
      ["Parolanız değişti", "Emanet parolanız değişti ve diğer oturumlarınız kapatıldı."],
      ["Bir üyenin parolası değişti", (name) => `${name} adlı üyenin parolası değişti.`],
    ),
    en: personal(
      ["Your password has changed", "Your Emanet password has changed, and your other sessions were ended."],
      ["A member's password has changed", (name) => `The password of ${name} has changed.`],
    ),
  },
  member_invited: {
    tr: ({ name, detail }) => ({
      subject: "Hesabınıza bir üye davet edildi",
      text: `${name} hesabınıza davet edildi. Rolü: ${role(detail, "tr")}.`,
    }),
    en: ({ name, detail }) => ({
      subject: "A member was invited to your account",
      text: `${name} was invited to your account. Role: ${role(detail, "en")}.`,
    }),
  },
  member_enrolled: {
    tr: personal(
      ["Erişiminiz kuruldu", "Parolanız, doğrulama uygulamanız ve kurtarma kodlarınız tanımlandı."],
      ["Hesabınıza bir üye katıldı", (name) => `${name} davetini kullandı ve artık hesabınıza girebilir.`],
    ),
    en: personal(
      ["Your access is set up", "Your password, your authenticator and your recovery codes have been set."],
      [
        "A member has joined your account",
        (name) => `${name} used the invitation and can now sign in to your account.`,
      ],
    ),
  },
  member_removed: {
    tr: personal(
      ["Hesaptan çıkarıldınız", "Üyeliğiniz sona erdi ve oturumlarınız kapatıldı."],
      ["Hesabınızdan bir üye çıkarıldı", (name) => `${name} adlı üye çıkarıldı ve oturumları kapatıldı.`],
    ),
    en: personal(
      ["You were removed from the account", "Your membership has ended, and your sessions were ended."],
      ["A member was removed from your account", (name) => `${name} was removed, and their sessions were ended.`],
    ),
  },
  role_changed: {
    tr: (values) =>
      personal(
        ["Rolünüz değişti", `Yeni rolünüz: ${role(values.detail, "tr")}.`],
        ["Bir üyenin rolü değişti", (name) => `${name} adlı üyenin yeni rolü: ${role(values.detail, "tr")}.`],
      )(values),
    en: (values) =>
      personal(
        ["Your role has changed", `Your new role: ${role(values.detail, "en")}.`],
        ["A member's role has changed", (name) => `The new role of ${name}: ${role(values.detail, "en")}.`],
      )(values),
  },
  second_factor_reset_asked: {
    tr: ({ reader, name, detail }) => ({
      subject: "İkinci adım sıfırlanacak",
      text:
        reader === "you"
          ? `Doğrulama uygulamanızın sıfırlanması istendi. Bir hesap sahibi onaylarsa hemen, yoksa ${detail} (UTC) tarihinde uygulanır.`
          : `${name} için doğrulama uygulamasının sıfırlanması istendi. Siz onaylarsanız hemen, yoksa ${detail} (UTC) tarihinde uygulanır; üyeler sayfasından iptal edebilirsiniz.`,
    }),
    en: ({ reader, name, detail }) => ({
      subject: "A second factor will be reset",
      text:
        reader === "you"
          ? `A reset of your authenticator was requested. It takes effect when an owner confirms it, or at ${detail} (UTC).`
          : `A reset of the authenticator of ${name} was requested. It takes effect when you confirm it, or at ${detail} (UTC); you can cancel it on the members page.`,
    }),
  },
  second_factor_reset_done: {
    tr: ({ name }) => ({
      subject: "Bir üyenin ikinci adımı sıfırlandı",
      text: `${name} adlı üyenin oturumları kapatıldı; yeni doğrulama uygulaması için kendisine bir bağlantı gönderildi.`,
    }),
    en: ({ name }) => ({
      subject: "A member's second factor was reset",
      text: `The sessions of ${name} were ended, and a link to set up a new authenticator was mailed to them.`,
    }),
  },
  second_factor_reset_canceled: {
    tr: personal(
      ["İkinci adım sıfırlanmayacak", "Doğrulama uygulamanızın sıfırlanması iptal edildi; hiçbir şey değişmedi."],
      ["İkinci adım sıfırlanmayacak", (name) => `${name} için istenen sıfırlama iptal edildi; hiçbir şey değişmedi.`],
    ),
    en: personal(
      ["A second factor will not be reset", "The reset of your authenticator was canceled; nothing has changed."],
      ["A second factor will not be reset", (name) => `The reset for ${name} was canceled; nothing has changed.`],
    ),
  },
  client_created: {
    tr: ({ name }) => ({ subject: "Hesabınıza bir uygulama eklendi", text: `"${name}" adlı uygulama eklendi.` }),
    en: ({ name }) => ({ subject: "A client was added to your account", text: `The client "${name}" was added.` }),
  },
  client_changed: {
    tr: ({ name }) => ({ subject: "Hesabınızın bir uygulaması değişti", text: `"${name}" adlı uygulama değişti.` }),
    en: ({ name }) => ({ subject: "A client of your account has changed", text: `The client "${name}" has changed.` }),
  },
  client_removed: {
    tr: ({ name }) => ({ subject: "Hesabınızın bir uygulaması silindi", text: `"${name}" adlı uygulama silindi.` }),
    en: ({ name }) => ({
      subject: "A client was removed from your account",
      text: `The client "${name}" was removed.`,
    }),
  },
  client_secret_rotated: {
    tr: ({ name }) => ({
      subject: "Bir uygulamanın gizli anahtarı yenilendi",
      text: `"${name}" adlı uygulamaya yeni bir gizli anahtar verildi.`,
    }),
    en: ({ name }) => ({
      subject: "The secret of a client was replaced",
      text: `The client "${name}" was given a new secret.`,
    }),
  },
  agent_created: {
    tr: ({ name }) => ({
      subject: "Hesabınıza bir yedekleme aracısı eklendi",
      text: `"${name}" adlı yedekleme aracısı eklendi. Kasalarınıza yazabilir.`,
    }),
    en: ({ name }) => ({
      subject: "A backup agent was added to your account",
      text: `The backup agent "${name}" was added. It can write to your vaults.`,
    }),
  },
  agent_changed: {
    tr: ({ name }) => ({
      subject: "Hesabınızın bir yedekleme aracısı değişti",
      text: `"${name}" adlı yedekleme aracısının adı ya da kasaları değişti.`,
    }),
    en: ({ name }) => ({
      subject: "A backup agent of your account has changed",
      text: `The name or the vaults of the backup agent "${name}" have changed.`,
    }),
  },
  agent_removed: {
    tr: ({ name }) => ({
      subject: "Hesabınızın bir yedekleme aracısı iptal edildi",
      text: `"${name}" adlı yedekleme aracısı artık yazamaz. Daha önce yedekledikleri duruyor.`,
    }),
    en: ({ name }) => ({
      subject: "A backup agent of your account was revoked",
      text: `The backup agent "${name}" can no longer write. What it has backed up stays.`,
    }),
  },
} as const satisfies Record<string, Record<Language, RenderChange>>;

/** A change about which the person concerned and the owners get a mail. */
export type SecurityChange = keyof typeof changes;

const actorNames: Readonly<Record<Language, Readonly<Record<ChangeValues["by"], string>>>> = {
  tr: {
    you: "siz",
    named: "",
    program: "hesabınızın bir uygulaması",
    support: "destek ekibimiz",
    unnamed: "",
  },
  en: {
    you: "you",
    named: "",
    program: "a program of your account",
    support: "our support",
    unnamed: "",
  },
};

const advice: Readonly<Record<Language, Readonly<Record<ChangeValues["reader"], string>>>> = {
  tr: {
    you: "Bunu siz yapmadıysanız ya da beklemiyorsanız hemen hesabınızın sahibine ve destek ekibimize bildirin.",
    owner: "Bunu beklemiyorsanız üyeler ve uygulamalar sayfalarına bakın ve durumu hemen destek ekibimize bildirin.",
  },
  en: {
    you: "If you did not do this or did not expect it, tell an owner of your account and our support at once.",
    owner: "If you did not expect this, check the members and clients pages and tell our support at once.",
  },
};

const labels = { tr: { at: "Zaman", by: "Yapan" }, en: { at: "When", by: "By" } } as const;

function layout(language: Language, render: RenderChange): (values: ChangeValues) => { subject: string; text: string } {
  return (values) => {
    const { subject, text } = render(values);
    const actor = values.by === "named" ? values.by_name : actorNames[language][values.by];
    const { at, by } = labels[language];
    const facts = [`${at}: ${values.at} (UTC)`, ...(actor === "" ? [] : [`${by}: ${actor}`])].join("\n");
    const hello = language === "tr" ? "Merhaba," : "Hello,";
    return { subject, text: paragraphs(hello, text, facts, advice[language][values.reader], "Emanet") };
  };
}

type Template = Readonly<Record<Language, (values: ChangeValues) => { subject: string; text: string }>>;

/** A mail template for each change. */
export const securityTemplates = Object.fromEntries(
  Object.entries(changes).map(([name, { tr, en }]) => [name, { tr: layout("tr", tr), en: layout("en", en) }]),
) as Readonly<Record<SecurityChange, Template>>;
