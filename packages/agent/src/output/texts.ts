/** The words of the agent's own messages, in Turkish and English. Keys of --json are never translated. */

import type { Language } from "../config.ts";

const english = {
  files: (count: string) => `${count} files`,
  remaining: (time: string) => `${time} left`,
  newBytes: (bytes: string) => `${bytes} new`,
  backedUp: (source: string, time: string) => `${source} is backed up (${time}).`,
  summaryRead: (files: string, bytes: string) => `  read      ${files} files, ${bytes}`,
  summaryUnchanged: (files: string) => `  unchanged ${files} files`,
  summarySent: (bytes: string) => `  sent      ${bytes}`,
  summarySaved: (share: string) => `  saved     ${share} of what was read: it was there already, or is compressed`,
  summaryWarnings: (count: string) => `  warnings  ${count}`,
  summarySnapshot: (id: string) => `  snapshot  ${id}`,
  notComplete: (path: string, why: string) => `  not in the backup as it should be: ${path} (${why})`,
  moreWarnings: (count: string) => `  and ${count} more; --json lists all of them`,
  taxpayersBackedUp: (count: string, all: string, time: string) =>
    `${count} of ${all} taxpayers are backed up (${time}).`,
  taxpayerFailed: (taxId: string, why: string) => `  not backed up: ${taxId} (${why})`,
  noSnapshots: "There are no snapshots.",
  nothingFound: "Nothing was found.",
  noDifference: "There is no difference.",
  restored: (files: string, bytes: string, time: string) => `${files} files restored, ${bytes} (${time}).`,
  wouldRestore: (files: string, bytes: string) => `Would restore ${files} files, ${bytes}. Nothing was written.`,
  kept: (files: string) => `  kept      ${files} files that were there already`,
  deleted: (count: string) => `  deleted   ${count} entries that the snapshot does not have`,
  wouldDelete: (count: string) => `  Would delete ${count} entries that the snapshot does not have.`,
  notRestored: (path: string, why: string) => `  not restored: ${path} (${why})`,
  checked: (files: string, bytes: string) => `${files} files checked, ${bytes}; every byte has its hash.`,
  damaged: (path: string, why: string) => `damaged: ${path} (${why})`,
  signedIn: (url: string) => `Signed in to ${url}.`,
  signedOut: "Signed out.",
  notSignedIn: "Nobody is signed in.",
  adviceLogin: "Run `emanet login`, or set EMANET_URL, EMANET_CLIENT_ID and EMANET_CLIENT_SECRET.",
  openPage: (uri: string) => `Open ${uri} in a browser`,
  enterCode: (code: string) => `and enter the code ${code}`,
  waiting: "Waiting for the approval …",
  readsUntil: (time: string) => `Reading is allowed until ${time}.`,
  cacheFailed: (reason: string) =>
    `The file cache could not be used: ${reason}. The backup is complete; until it can be used again, backups read more files again.`,
  newerVersion: (newest: string, own: string) =>
    `A newer version of emanet is there: ${newest} (this one is ${own}). Get it with: npm install --global emanet@${newest}`,
  reason: (code: string) => englishReasons[code] ?? code,
};

export type TextTable = typeof english;

const englishReasons: Readonly<Record<string, string>> = {
  changed: "it changed while it was read",
  special_file: "neither a file, a folder nor a link",
  unreadable: "it cannot be read",
  EACCES: "no permission",
  EPERM: "no permission",
  EBUSY: "it is locked",
  ENOENT: "it disappeared",
};

const turkishReasons: Readonly<Record<string, string>> = {
  changed: "okunurken değişti",
  special_file: "dosya, klasör ya da bağlantı değil",
  unreadable: "okunamıyor",
  EACCES: "izin yok",
  EPERM: "izin yok",
  EBUSY: "kilitli",
  ENOENT: "artık yok",
};

const turkish: TextTable = {
  files: (count) => `${count} dosya`,
  remaining: (time) => `${time} kaldı`,
  newBytes: (bytes) => `${bytes} yeni`,
  backedUp: (source, time) => `${source} yedeklendi (${time}).`,
  summaryRead: (files, bytes) => `  okunan    ${files} dosya, ${bytes}`,
  summaryUnchanged: (files) => `  değişmeyen ${files} dosya`,
  summarySent: (bytes) => `  gönderilen ${bytes}`,
  summarySaved: (share) => `  kazanç    okunanın ${share} kadarı: zaten kayıtlıydı ya da sıkıştırıldı`,
  summaryWarnings: (count) => `  uyarı     ${count}`,
  summarySnapshot: (id) => `  yedek     ${id}`,
  notComplete: (path, why) => `  yedekte olması gerektiği gibi değil: ${path} (${why})`,
  moreWarnings: (count) => `  ve ${count} tane daha; --json hepsini yazar`,
  taxpayersBackedUp: (count, all, time) => `${all} mükellefin ${count} tanesi yedeklendi (${time}).`,
  taxpayerFailed: (taxId, why) => `  yedeklenemedi: ${taxId} (${why})`,
  noSnapshots: "Yedek yok.",
  nothingFound: "Bir şey bulunamadı.",
  noDifference: "Fark yok.",
  restored: (files, bytes, time) => `${files} dosya geri yüklendi, ${bytes} (${time}).`,
  wouldRestore: (files, bytes) => `${files} dosya geri yüklenecekti, ${bytes}. Hiçbir şey yazılmadı.`,
  kept: (files) => `  duran     ${files} dosya zaten yerindeydi`,
  deleted: (count) => `  silinen   yedekte olmayan ${count} öğe`,
  wouldDelete: (count) => `  Yedekte olmayan ${count} öğe silinecekti.`,
  notRestored: (path, why) => `  geri yüklenemedi: ${path} (${why})`,
  checked: (files, bytes) => `${files} dosya denetlendi, ${bytes}; her baytın özeti doğru.`,
  damaged: (path, why) => `bozuk: ${path} (${why})`,
  signedIn: (url) => `${url} için giriş yapıldı.`,
  signedOut: "Çıkış yapıldı.",
  notSignedIn: "Giriş yapılmamış.",
  adviceLogin:
    "`emanet login` çalıştırın ya da EMANET_URL, EMANET_CLIENT_ID ve EMANET_CLIENT_SECRET değişkenlerini verin.",
  openPage: (uri) => `Tarayıcıda ${uri} adresini açın`,
  enterCode: (code) => `ve ${code} kodunu girin`,
  waiting: "Onay bekleniyor …",
  readsUntil: (time) => `Okumaya ${time} saatine kadar izin var.`,
  cacheFailed: (reason) =>
    `Dosya önbelleği kullanılamadı: ${reason}. Yedek tamdır; bu giderilene dek yedekler daha çok dosyayı yeniden okur.`,
  newerVersion: (newest, own) =>
    `emanet'in daha yeni bir sürümü var: ${newest} (bu sürüm ${own}). Almak için: npm install --global emanet@${newest}`,
  reason: (code) => turkishReasons[code] ?? code,
};

export function textsOf(language: Language): TextTable {
  return language === "tr" ? turkish : english;
}
