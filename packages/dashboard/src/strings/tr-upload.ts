/** The texts of uploads by hand in Turkish. */

import { count } from "../format.ts";

export const trUpload = {
  open: "Elle yükle",
  title: "Dosyaları elle yükleyin",
  lead: "Seçtiğiniz dosyalar bir yedek olur. Gece yedeği için bir cihaz bağlayın.",
  vault: "Kasa",
  source: "Kaynak adı",
  sourceHint: "Aynı adla yüklenen yedekler aynı kaynağın sürümleri olur.",
  sourceDefault: (person: string) => `Elle yükleme, ${person}`,
  drop: "Dosya ve klasörleri buraya sürükleyin",
  dropOr: "ya da seçin:",
  pickFiles: "Dosya seç",
  pickFolder: "Klasör seç",
  chosen: (n: number, size: string) => `${count(n)} dosya, ${size}`,
  more: (n: number) => `ve ${count(n)} dosya daha`,
  clear: "Listeyi boşalt",
  none: "Önce dosya ya da klasör seçin",
  start: "Yüklemeyi başlat",
  unread: "Bırakılanlar okunamadı. Seçme düğmelerini deneyin.",
  sending: "Yükleniyor",
  waiting: "Bağlantı bekleniyor; kaldığı yerden sürecek",
  paused: "Yükleme durdu",
  completing: "Tamamlanıyor",
  completed: "Yedek tamamlandı",
  canceled: "Yüklemeden vazgeçildi",
  progress: (files: number, all: number, sent: string, size: string) =>
    `${count(files)} / ${count(all)} dosya · ${sent} / ${size}`,
  stay: "Bu sekmeyi kapatmayın; başka ekranlara geçebilirsiniz.",
  resume: "Sürdür",
  cancel: "Vazgeç",
  cancelAsk: "Yüklemeden vazgeçilsin mi?",
  cancelDetail: "Gönderilen dosyalar yedek olmaz. Bir sonraki yüklemede yeniden gönderilir.",
  keepOn: "Sürdür",
  show: "Yedeği aç",
  dismiss: "Kapat",
  left: (n: number, size: string) =>
    `Yarım kalan bir yükleme var: ${count(n)} dosya, ${size}. Aynı dosyaları seçerseniz kaldığı yerden sürer.`,
  forget: "Unut",
};
