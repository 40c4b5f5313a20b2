/** Every word on the pages of OAuth, in both languages. */

import type { OauthScope } from "../kernel/principal.ts";
import type { Language } from "../kernel/problems.ts";

type Both = Readonly<Record<Language, string>>;

// biome-ignore format: one word, one line, so that the dictionary reads as a table
export const words = {
  signInTitle: { en: "Sign in", tr: "Oturum aç" },
  signInLead: { en: "An application asks for access to your Emanet account:", tr: "Bir uygulama Emanet hesabınıza erişmek istiyor:" },
  email: { en: "E-mail", tr: "E-posta" },
  password: { en: "Password", tr: "Parola" },
  code: { en: "Six-digit code of your authenticator app, or a recovery code", tr: "Doğrulama uygulamanızdaki altı haneli kod ya da bir kurtarma kodu" },
  signIn: { en: "Sign in", tr: "Oturum aç" },
  cancel: { en: "Cancel", tr: "Vazgeç" },
  wrongCredentials: { en: "E-mail, password or code is wrong.", tr: "E-posta, parola ya da kod yanlış." },
  tooManyAttempts: { en: "Too many attempts. Wait a while, then try again.", tr: "Çok fazla deneme yapıldı. Bir süre bekleyip yeniden deneyin." },
  consentTitle: { en: "Allow access?", tr: "Erişime izin verilsin mi?" },
  client: { en: "Application", tr: "Uygulama" },
  ownClient: { en: "an application of Emanet", tr: "Emanet'in kendi uygulaması" },
  account: { en: "Account", tr: "Hesap" },
  placeOfDevice: { en: "The request came from the address", tr: "İsteğin geldiği adres" },
  placeOfReturn: { en: "Afterwards you return to", tr: "Ardından döneceğiniz yer" },
  wants: { en: "It wants to:", tr: "Şunları yapmak istiyor:" },
  onlyIfYou: { en: "Allow this only if you started it yourself.", tr: "Yalnızca bu işlemi siz başlattıysanız izin verin." },
  approve: { en: "Allow", tr: "İzin ver" },
  deny: { en: "Deny", tr: "Reddet" },
  otherAccount: { en: "This application belongs to another account. Sign in with a member of that account.", tr: "Bu uygulama başka bir hesaba ait. O hesabın bir üyesiyle oturum açın." },
  codeTitle: { en: "Connect a device", tr: "Cihaz bağla" },
  codeLead: { en: "Type the code that your device shows.", tr: "Cihazınızın gösterdiği kodu yazın." },
  userCode: { en: "Code (8 letters)", tr: "Kod (8 harf)" },
  next: { en: "Continue", tr: "Devam" },
  codeWrong: { en: "There is no such code. Look for a typing mistake.", tr: "Böyle bir kod yok. Yazım hatası olup olmadığına bakın." },
  codeExpired: { en: "The code has expired. Start again on your device.", tr: "Kodun süresi dolmuş. Cihazınızda yeniden başlatın." },
  codeUsed: { en: "The code was already used. Start again on your device.", tr: "Kod daha önce kullanılmış. Cihazınızda yeniden başlatın." },
  codeTries: { en: "Too many wrong codes. Try again in ten minutes.", tr: "Çok fazla yanlış kod girildi. On dakika sonra yeniden deneyin." },
  aborted: { en: "Access was denied. You can close this page.", tr: "Erişim reddedildi. Bu sayfayı kapatabilirsiniz." },
  confirmTitle: { en: "Is this your device?", tr: "Bu sizin cihazınız mı?" },
  confirmLead: { en: "Your device must show exactly this code:", tr: "Cihazınız tam olarak bu kodu göstermelidir:" },
  doneTitle: { en: "Connected", tr: "Bağlandı" },
  doneLead: { en: "The device has access now. You can close this page.", tr: "Cihaz artık erişebilir. Bu sayfayı kapatabilirsiniz." },
  failedTitle: { en: "This did not work", tr: "Olmadı" },
  failedLead: { en: "The request is not valid or took too long. Start again in the application.", tr: "İstek geçerli değil ya da çok uzun sürdü. Uygulamada yeniden başlatın." },
  failedRedirect: { en: "The application asked to return to an address that is not registered for it, so nothing was sent there.", tr: "Uygulama, kendisi için kayıtlı olmayan bir adrese dönmek istedi; oraya hiçbir şey gönderilmedi." },
  failedClient: { en: "The application is not known here, or its access was withdrawn.", tr: "Uygulama burada tanınmıyor ya da erişimi geri alınmış." },
  emptyTitle: { en: "Nothing to do here", tr: "Burada yapılacak bir şey yok" },
  emptyLead: { en: "Applications send you here when they want access. Start in the application.", tr: "Uygulamalar erişim istediklerinde sizi buraya gönderir. Uygulamada başlatın." },
  overLead: { en: "This request is over. Go back to the application.", tr: "Bu istek sonuçlandı. Uygulamaya dönün." },
  errorCode: { en: "For developers", tr: "Geliştiriciler için" },
} as const satisfies Record<string, Both>;

export type Word = keyof typeof words;

// biome-ignore format: one scope, one line
export const scopeWords: Readonly<Record<OauthScope, Both>> = {
  "snapshots:read": { en: "See backups, vaults and sources, and read the files in them", tr: "Yedekleri, kasaları ve kaynakları görmek, içlerindeki dosyaları okumak" },
  "snapshots:write": { en: "Make and delete backups", tr: "Yedek almak ve silmek" },
  "restores:read": { en: "See restores and download their files", tr: "Geri yüklemeleri görmek ve dosyalarını indirmek" },
  "restores:write": { en: "Start and cancel restores", tr: "Geri yükleme başlatmak ve iptal etmek" },
  "restores:agent": { en: "Write restored files onto machines that run the agent", tr: "Geri yüklenen dosyaları ajanın çalıştığı makinelere yazmak" },
  "audit:read": { en: "Read and export the audit log", tr: "Denetim kaydını okumak ve dışa aktarmak" },
  "webhooks:read": { en: "See webhooks, their deliveries and events", tr: "Webhook'ları, gönderimlerini ve olayları görmek" },
  "webhooks:write": { en: "Add, change and delete webhooks", tr: "Webhook eklemek, değiştirmek ve silmek" },
  "account:read": { en: "See the account, its members, sessions and applications", tr: "Hesabı, üyelerini, oturumlarını ve uygulamalarını görmek" },
  "account:write": { en: "Change the account, its members, sessions and applications", tr: "Hesabı, üyelerini, oturumlarını ve uygulamalarını değiştirmek" },
  "taxpayers:read": { en: "See taxpayers", tr: "Mükellefleri görmek" },
  "taxpayers:write": { en: "Add and change taxpayers", tr: "Mükellef eklemek ve değiştirmek" },
};
