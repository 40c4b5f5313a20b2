/** The texts of the outside auditor's screen, loaded with it. */

import { pageLanguage } from "./index.ts";

const tr = {
  title: "Paylaşılan denetim izi",
  lead: "Size iletilen paylaşım anahtarını yapıştırın. Anahtar bu sayfada kalır: adrese ve tarayıcının deposuna yazılmaz, sayfa kapanınca unutulur.",
  token: "Paylaşım anahtarı",
  tokenHint: "shr_ ile başlar",
  open: "Kayıtları aç",
  wrong: "Bu anahtar geçerli değil. Süresi dolmuş ya da geri alınmış olabilir.",
  shape: "Anahtar shr_ ile başlar",
  forget: "Anahtarı unut",
  records: "Kayıtlar",
  masked: "Gizlenen alanlar var",
  noted: "Her okumanız, hesabın denetim izine yazılır.",
  exportDetail: "Dosyayı sunucu olmadan doğrulamak için belgelerdeki betiği kullanın.",
  signIn: "Oturum aç",
  checker: "Doğrulama betiği",
};

const en: typeof tr = {
  title: "Shared audit trail",
  lead: "Paste the share key that you were given. It stays in this page: it is written neither into the address nor into the browser's storage, and is forgotten when the page is closed.",
  token: "Share key",
  tokenHint: "Begins with shr_",
  open: "Open the records",
  wrong: "This key is not valid. It may have expired or been revoked.",
  shape: "The key begins with shr_",
  forget: "Forget the key",
  records: "Records",
  masked: "Some fields are hidden",
  noted: "Everything you read is recorded in the account's audit trail.",
  exportDetail: "The script in the documentation checks the file without the service.",
  signIn: "Sign in",
  checker: "Script that checks",
};

export const a = pageLanguage === "en" ? en : tr;
