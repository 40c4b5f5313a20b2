/** What to do about a night that went wrong, by the code of the failure. Loaded with the taxpayer's screen. */

import { pageLanguage } from "./index.ts";

interface Words {
  readonly title: string;
  readonly cause: string;
  readonly late: string;
  readonly lastGood: string;
  readonly noGood: string;
  readonly tryThese: string;
  readonly byItself: string;
  readonly steps: Readonly<Record<string, readonly string[]>>;
}

const tr: Words = {
  title: "Bu gece ne oldu?",
  cause: "Neden",
  late: "Beklenen saatte yedek gelmedi.",
  lastGood: "Son sağlam yedek",
  noGood: "Henüz yok",
  tryThese: "Sırayla deneyin",
  byItself: "Bir sonraki sağlam yedekle kendiliğinden yeşile döner; işaretlemeniz gerekmez.",
  steps: {
    late: [
      "Bilgisayarın açık ve internete bağlı olduğuna bakın.",
      "Kaynaklar ve cihazlar sayfasında cihazın son görülme saatine bakın.",
      "O bilgisayarda yedeği elle başlatın: emanet backup",
    ],
    upload_abandoned: [
      "Bilgisayarın gece uyku moduna geçmediğine bakın.",
      "Programın o bilgisayarda çalıştığına bakın: emanet doctor",
      "Yedeği elle başlatın; gönderilmiş parçalar yeniden gönderilmez.",
    ],
    upload_interrupted: [
      "Ofisin internet bağlantısının gece kesilip kesilmediğine bakın.",
      "Yedeği elle yeniden başlatın; gönderilmiş parçalar yeniden gönderilmez.",
      "Her gece aynı saatte kesiliyorsa yedeğin saatini değiştirin.",
    ],
    quota_exceeded: [
      "Ayarlar, Kullanım ve sınırlar sayfasında hangi kasanın dolduğuna bakın.",
      "Saklama sayfasında eski yedekleri azaltan bir kuralı deneyin.",
      "Kasanın kotasını artırın.",
    ],
    storage_full: [
      "Bir saat sonra yeniden deneyin; depolama alanı genişletiliyor olabilir.",
      "Bu geceki diğer yedeklerin tamamlanıp tamamlanmadığına bakın.",
      "Sürüyorsa destek ekibine yazın.",
    ],
    invalid_archive: [
      "Yedeği gönderen programın dosyayı sonuna dek yazdığına bakın.",
      "Arşivi o bilgisayarda açmayı deneyin; açılmıyorsa yeniden oluşturun.",
      "Programı güncelleyip yedeği yeniden gönderin.",
    ],
    content_mismatch: [
      "Yedek sırasında dosyaların değişmediğine bakın; muhasebe programını kapatın.",
      "Yedeği elle yeniden başlatın.",
      "Yinelenirse bilgisayarın diskini ve belleğini denetletin.",
    ],
    verification_failed: [
      "Son sağlam yedeği kullanın; bu yedekten geri yüklemeyin.",
      "Yedeği elle yeniden başlatın.",
      "Destek ekibine yedeğin saatini bildirin.",
    ],
    canceled: [
      "Denetim izinde yedekten kimin vazgeçtiğine bakın.",
      "İstemeden olduysa yedeği elle yeniden başlatın.",
      "Yinelenirse cihazın zamanlamasına bakın.",
    ],
    internal: [
      "Bir saat sonra yedeği elle yeniden başlatın.",
      "Diğer mükelleflerin bu geceki yedeklerine bakın.",
      "Sürüyorsa destek ekibine yedeğin saatini bildirin.",
    ],
  },
};

const en: Words = {
  title: "What happened tonight?",
  cause: "Cause",
  late: "No backup came at the expected time.",
  lastGood: "Last good backup",
  noGood: "None yet",
  tryThese: "Try these, in this order",
  byItself: "The next good backup turns it green by itself; there is nothing to tick off.",
  steps: {
    late: [
      "Check that the computer is on and connected to the internet.",
      "See under Sources and devices when the device was last seen.",
      "Start the backup by hand on that computer: emanet backup",
    ],
    upload_abandoned: [
      "Check that the computer does not sleep at night.",
      "Check that the program runs on that computer: emanet doctor",
      "Start the backup by hand; parts that arrived are not sent again.",
    ],
    upload_interrupted: [
      "Check whether the office’s internet connection breaks off at night.",
      "Start the backup again by hand; parts that arrived are not sent again.",
      "If it breaks off at the same time every night, move the backup to another hour.",
    ],
    quota_exceeded: [
      "See under Settings, Usage and limits which vault is full.",
      "Try a retention rule that keeps fewer old backups.",
      "Raise the quota of the vault.",
    ],
    storage_full: [
      "Try again in an hour; the storage may be growing.",
      "See whether other backups of tonight were completed.",
      "If it goes on, write to support.",
    ],
    invalid_archive: [
      "Check that the program that sends the backup writes the file to its end.",
      "Open the archive on that computer; if it does not open, make it again.",
      "Update the program and send the backup again.",
    ],
    content_mismatch: [
      "Check that files do not change during the backup; close the accounting program.",
      "Start the backup again by hand.",
      "If it happens again, have the disk and memory of the computer checked.",
    ],
    verification_failed: [
      "Use the last good backup; do not restore from this one.",
      "Start the backup again by hand.",
      "Tell support the time of the backup.",
    ],
    canceled: [
      "See in the audit trail who canceled the backup.",
      "If nobody meant to, start the backup again by hand.",
      "If it happens again, look at the schedule of the device.",
    ],
    internal: [
      "Start the backup again by hand in an hour.",
      "See how tonight went for other taxpayers.",
      "If it goes on, tell support the time of the backup.",
    ],
  },
};

export const trouble = pageLanguage === "en" ? en : tr;
