/** Mails about retention, to owners: acts that wait, closed accounts, erased vaults, recovery kits, suspicious snapshots, ceilings. */

import { paragraphs } from "./paragraphs.ts";

const actNames = {
  policy_change: { tr: "Saklama kuralı değişikliği", en: "A change of a retention policy" },
  hold_release: { tr: "Yasal saklamanın kaldırılması", en: "The release of a legal hold" },
  acceptance: { tr: "Şüpheli bir yedeğin kabulü", en: "The acceptance of a suspicious snapshot" },
  source_deletion: { tr: "Bir kaynağın silinmesi", en: "The deletion of a source" },
  taxpayer_deletion: { tr: "Bir mükellefin silinmesi", en: "The deletion of a taxpayer" },
  vault_deletion: { tr: "Bir kasanın silinmesi", en: "The deletion of a vault" },
  account_closing: { tr: "Hesabın kapatılması", en: "The closing of the account" },
} as const;

type Act = { kind: keyof typeof actNames; act_id: string; target_id: string; by: string; due_at: string };
type Suspicious = { snapshot_id: string; source_id: string; lost: string; changed: string };
type Ceiling = { source: string; source_id: string; count: string; first: string };

type Kit = { kit_id: string; vault_id: string; by: string; ready_at: string };
type Erased = { vault_id: string; erasure_id: string; proof: string };
type Closed = { erase_after: string };

type Review = { snapshot_id: string; reason: string };

export const retentionTemplates = {
  act_scheduled: {
    tr: (v: Act) => ({
      subject: `72 saat sonra: ${actNames[v.kind].tr}`,
      text: paragraphs(
        "Merhaba,",
        `${v.by} adlı üye, yedeklerin daha erken silinmesine yol açabilecek bir işlem başlattı.`,
        `İşlem: ${actNames[v.kind].tr}\nKonu: ${v.target_id}\nİşlem numarası: ${v.act_id}\nYürürlük: ${v.due_at} (UTC)`,
        "O zamana kadar hiçbir şey değişmez. Hesabın her sahibi işlemi iptal edebilir. Bunu beklemiyorsanız iptal edin ve üyelerinizin erişimini kontrol edin.",
        "Emanet",
      ),
    }),
    en: (v: Act) => ({
      subject: `In 72 hours: ${actNames[v.kind].en}`,
      text: paragraphs(
        "Hello,",
        `${v.by} started an act that could remove snapshots earlier.`,
        `Act: ${actNames[v.kind].en}\nAbout: ${v.target_id}\nNumber of the act: ${v.act_id}\nTakes effect: ${v.due_at} (UTC)`,
        "Nothing changes before. Every owner of the account can cancel it. If you did not expect this, cancel it and check the access of your members.",
        "Emanet",
      ),
    }),
  },
  account_closed: {
    tr: (v: Closed) => ({
      subject: "Hesabınız kapatıldı",
      text: paragraphs(
        "Merhaba,",
        `Hesabınız kapatıldı. Yedeklerinizi ${v.erase_after} (UTC) tarihine kadar okuyabilir ve geri yükleyebilirsiniz. Yeni yedek alınmaz.`,
        "O tarihten sonra bütün kasalar, anahtarlarıyla birlikte geri dönülmez biçimde silinir. Yasal saklama ya da kilit olan bir kasa, bunlar bitene kadar kalır.",
        "Bütün verilerinizi dışa aktarmak için GET /v1/account/export, denetim kaydı için GET /v1/audit/export çağrısını kullanın.",
        "Emanet",
      ),
    }),
    en: (v: Closed) => ({
      subject: "Your account is closed",
      text: paragraphs(
        "Hello,",
        `Your account is closed. You can read and restore your snapshots until ${v.erase_after} (UTC). No new ones are made.`,
        "After that every vault is erased together with its keys; nobody can bring it back. A vault with a hold or a lock stays until these end.",
        "GET /v1/account/export exports the data of the account, GET /v1/audit/export its audit trail.",
        "Emanet",
      ),
    }),
  },
  recovery_kit_ordered: {
    tr: (v: Kit) => ({
      subject: "24 saat sonra: Kurtarma kiti",
      text: paragraphs(
        "Merhaba,",
        `${v.by} adlı üye bir kasanın kurtarma kitini istedi. Kit, kasadaki her şeyi servis olmadan okumaya yarayan anahtarları içerir.`,
        `Kasa: ${v.vault_id}\nİstek: ${v.kit_id}\nHazır olma: ${v.ready_at} (UTC)`,
        "O zamana kadar hesabın her sahibi isteği iptal edebilir. Bunu beklemiyorsanız iptal edin ve üyelerinizin erişimini kontrol edin.",
        "Emanet",
      ),
    }),
    en: (v: Kit) => ({
      subject: "In 24 hours: a recovery kit",
      text: paragraphs(
        "Hello,",
        `${v.by} ordered the recovery kit of a vault. It has the keys that read everything in the vault without the service.`,
        `Vault: ${v.vault_id}\nOrder: ${v.kit_id}\nReady: ${v.ready_at} (UTC)`,
        "Until then every owner of the account can cancel it. If you did not expect this, cancel it and check the access of your members.",
        "Emanet",
      ),
    }),
  },
  recovery_kit_delivered: {
    tr: (v: Kit) => ({
      subject: "Bir kurtarma kiti indirildi",
      text: paragraphs(
        "Merhaba,",
        `${v.by} adlı üye bir kasanın kurtarma kitini indirdi.`,
        `Kasa: ${v.vault_id}\nİstek: ${v.kit_id}`,
        "Bunu beklemiyorsanız kasaya yeni bir anahtar çifti verin ve üyelerinizin erişimini kontrol edin. Eski içerik, kit kimdeyse onun için okunur kalır.",
        "Emanet",
      ),
    }),
    en: (v: Kit) => ({
      subject: "A recovery kit was fetched",
      text: paragraphs(
        "Hello,",
        `${v.by} fetched the recovery kit of a vault.`,
        `Vault: ${v.vault_id}\nOrder: ${v.kit_id}`,
        "If you did not expect this, draw a new key pair for the vault and check the access of your members. Old content stays readable for everybody who has the kit.",
        "Emanet",
      ),
    }),
  },
  vault_erased: {
    tr: (v: Erased) => ({
      subject: "Bir kasa geri dönülmez biçimde silindi",
      text: paragraphs(
        "Merhaba,",
        `Kasanın anahtarları ve bütün içeriği yok edildi. Bunu kimse geri alamaz.\nKasa: ${v.vault_id}\nSilme: ${v.erasure_id}`,
        `İmzalı kanıt (JWS, /.well-known/emanet-keys.json anahtarlarıyla denetlenir):\n${v.proof}`,
        "Emanet",
      ),
    }),
    en: (v: Erased) => ({
      subject: "A vault was erased",
      text: paragraphs(
        "Hello,",
        `The keys and all content of the vault were destroyed. Nobody can bring it back.\nVault: ${v.vault_id}\nErasure: ${v.erasure_id}`,
        `The signed proof (a JWS, checked with the keys at /.well-known/emanet-keys.json):\n${v.proof}`,
        "Emanet",
      ),
    }),
  },
  source_suspicious: {
    tr: (v: Suspicious) => ({
      subject: "Şüpheli bir yedek",
      text: paragraphs(
        "Merhaba,",
        "Yeni bir yedekte dosyaların yarısından fazlası yok ya da değişmiş. Fidye yazılımı, silinmiş bir klasör ya da yanlış bir kaynak olabilir.",
        `Kaynak: ${v.source_id}\nYedek: ${v.snapshot_id}\nEksik dosya: ${v.lost}\nDeğişen dosya: ${v.changed}`,
        "Bir kişi yedeği kabul edene ya da silene kadar bu kaynağın hiçbir yedeği saklama kuralıyla silinmez.",
        "Emanet",
      ),
    }),
    en: (v: Suspicious) => ({
      subject: "A suspicious snapshot",
      text: paragraphs(
        "Hello,",
        "More than half of the files are missing or different in a new snapshot. It may be ransomware, a deleted folder or a wrong source.",
        `Source: ${v.source_id}\nSnapshot: ${v.snapshot_id}\nMissing files: ${v.lost}\nDifferent files: ${v.changed}`,
        "Until a person accepts or deletes the snapshot, no snapshot of this source expires.",
        "Emanet",
      ),
    }),
  },
  hold_review: {
    tr: (v: Review) => ({
      subject: "Yasal saklamayı gözden geçirin",
      text: paragraphs(
        "Merhaba,",
        "Bir yedeğe konan yasal saklama için seçilen gözden geçirme tarihi geldi.",
        `Yedek: ${v.snapshot_id}\nNeden: ${v.reason}`,
        "Yedek, hesabın bir sahibi saklamayı kaldırana kadar tutulur.",
        "Emanet",
      ),
    }),
    en: (v: Review) => ({
      subject: "Review a legal hold",
      text: paragraphs(
        "Hello,",
        "The time has come at which the legal hold of a snapshot was to be looked at again.",
        `Snapshot: ${v.snapshot_id}\nReason: ${v.reason}`,
        "The snapshot is kept until an owner releases the hold.",
        "Emanet",
      ),
    }),
  },
  ceiling_notice: {
    tr: (v: Ceiling) => ({
      subject: "Saklama süresi dolan yedekler",
      text: paragraphs(
        "Merhaba,",
        `${v.source} kaynağının ${v.count} yedeği en uzun saklama süresine ulaşıyor.`,
        `Kaynak: ${v.source_id}\nİlk silinme: ${v.first} (UTC)`,
        "O tarihten itibaren, kaynağın son yedeği de olsa silinirler. Saklamak istediklerinize yasal saklama koyun ya da kuralı değiştirin.",
        "Emanet",
      ),
    }),
    en: (v: Ceiling) => ({
      subject: "Snapshots reach the end of their retention",
      text: paragraphs(
        "Hello,",
        `${v.count} snapshots of the source ${v.source} reach the ceiling of their policy.`,
        `Source: ${v.source_id}\nThe first goes: ${v.first} (UTC)`,
        "From then on they are removed, also the newest one of the source. Put a hold on those that you want to keep, or change the policy.",
        "Emanet",
      ),
    }),
  },
} as const;
