/** Why an upload failed, in words. They never name a file: a path is personal data. */

import type { InvalidArchiveCode } from "../archives/index.ts";
import type { Language } from "../kernel/problems.ts";
import type { FailureCode } from "./rules.ts";

type Texts = Readonly<Record<Language, string>>;

// biome-ignore format: one code per line, so that the texts read as a table
const byCode: Readonly<Record<FailureCode, Texts>> = {
  upload_abandoned: { en: "Nothing arrived for too long. Start a new upload; what arrived is not sent again.", tr: "Uzun süre veri gelmedi. Yeni bir yükleme başlatın; gelen veriler yeniden gönderilmez." },
  upload_interrupted: { en: "The connection or the service was interrupted. Send it again.", tr: "Bağlantı ya da hizmet kesildi. Yeniden gönderin." },
  quota_exceeded: { en: "The vault's quota was reached during the upload.", tr: "Yükleme sırasında kasanın kotası doldu." },
  storage_full: { en: "The service could not store more at that time. Send it again later.", tr: "Hizmet o sırada daha fazla saklayamadı. Daha sonra yeniden gönderin." },
  invalid_archive: { en: "The archive cannot be read.", tr: "Arşiv okunamıyor." },
  content_mismatch: { en: "The content did not match its digest. Send it again.", tr: "İçerik özetiyle uyuşmadı. Yeniden gönderin." },
  verification_failed: { en: "What was stored could not be read back. Send it again.", tr: "Saklananlar geri okunamadı. Yeniden gönderin." },
  canceled: { en: "The upload was canceled.", tr: "Yükleme iptal edildi." },
  internal: { en: "An internal error occurred and was recorded. Send it again.", tr: "Bir iç hata oluştu ve kaydedildi. Yeniden gönderin." },
};

// biome-ignore format: one code per line, so that the texts read as a table
const archiveTexts: Readonly<Record<InvalidArchiveCode, Texts>> = {
  not_a_header: { en: "The body is no tar archive, or it is damaged here. Send a tar, or one file with ?path=.", tr: "Gövde bir tar arşivi değil ya da burada bozuk. Bir tar ya da ?path= ile tek bir dosya gönderin." },
  no_end_mark: { en: "The archive ends before its end mark: the program that wrote it was stopped. Use `set -o pipefail` and send it again.", tr: "Arşiv bitiş işaretinden önce bitiyor: onu yazan program durmuş. `set -o pipefail` kullanın ve yeniden gönderin." },
  truncated: { en: "The archive ends inside an entry. Send it again.", tr: "Arşiv bir girdinin içinde bitiyor. Yeniden gönderin." },
  number_out_of_range: { en: "A number of this entry is out of range.", tr: "Bu girdinin bir sayısı aralık dışında." },
  malformed_extended_header: { en: "The extended header of this entry is malformed.", tr: "Bu girdinin genişletilmiş başlığı bozuk." },
  malformed_sparse_map: { en: "The sparse map of this entry is malformed. Send it without --sparse.", tr: "Bu girdinin seyrek dosya haritası bozuk. --sparse olmadan gönderin." },
  header_too_large: { en: "The headers of this entry are too large.", tr: "Bu girdinin başlıkları çok büyük." },
  path_too_long: { en: "The path of this entry is longer than 4096 bytes.", tr: "Bu girdinin yolu 4096 bayttan uzun." },
  unsafe_path: { en: "The path leaves the archive or is not plain: no `..`, no NUL.", tr: "Yol arşivin dışına çıkıyor ya da yalın değil: `..` ve NUL olamaz." },
  empty_path: { en: "An entry has no name.", tr: "Bir girdinin adı yok." },
  path_is_no_directory: { en: "Two entries cannot both be at one path: a file has entries below it.", tr: "İki girdi aynı yolda olamaz: bir dosyanın altında girdiler var." },
  too_many_entries: { en: "The archive has more entries than a snapshot may have.", tr: "Arşivde bir yedekte olabilecekten fazla girdi var." },
  multi_volume: { en: "The archive is one of several volumes. Send one whole archive.", tr: "Arşiv birkaç parçadan biri. Tek ve bütün bir arşiv gönderin." },
  file_too_large: { en: "A file is larger than 1 TiB.", tr: "Bir dosya 1 TiB'den büyük." },
  damaged_compression: { en: "The compression is damaged, or its window is larger than 8 MiB (zstd without --long).", tr: "Sıkıştırma bozuk ya da penceresi 8 MiB'den büyük (zstd, --long olmadan)." },
  not_a_zip: { en: "The body is no whole zip archive: its directory, which is at its end, is missing or damaged. Make the archive again, or send a tar.", tr: "Gövde bütün bir zip arşivi değil: sonundaki dizini eksik ya da bozuk. Arşivi yeniden oluşturun ya da bir tar gönderin." },
  encrypted_entry: { en: "This entry is encrypted with a password. Send the archive without one: it is encrypted when it is stored.", tr: "Bu girdi parolayla şifrelenmiş. Arşivi parolasız gönderin: saklanırken şifrelenir." },
  unsupported_compression: { en: "This entry is compressed with another method than deflate, as Windows does above 2 GB. Send a tar, or this file alone with ?path=.", tr: "Bu girdi deflate dışında bir yöntemle sıkıştırılmış; Windows 2 GB üzerinde böyle yapar. Bir tar ya da ?path= ile yalnız bu dosyayı gönderin." },
  contradictory_entry: { en: "The archive says two different things about this entry. Make the archive again, or send a tar.", tr: "Arşiv bu girdi için birbirinden farklı iki şey söylüyor. Arşivi yeniden oluşturun ya da bir tar gönderin." },
  overlapping_entries: { en: "This entry shares bytes with another one. Make the archive again, or send a tar.", tr: "Bu girdi başka bir girdiyle ortak baytlar kullanıyor. Arşivi yeniden oluşturun ya da bir tar gönderin." },
  size_mismatch: { en: "This entry has another size than the archive says.", tr: "Bu girdinin boyutu arşivin söylediğinden farklı." },
  checksum_mismatch: { en: "This entry is damaged: it has another checksum (CRC-32) than the archive says. Make the archive again.", tr: "Bu girdi bozuk: sağlama toplamı (CRC-32) arşivin söylediğinden farklı. Arşivi yeniden oluşturun." },
  duplicate_path: { en: "The archive has two files at this path.", tr: "Arşivde bu yolda iki dosya var." },
};

/** The text of a failure, with the reason of a refused archive where it is known. */
export function failureDetail(code: FailureCode, reason: string | null, language: Language): string {
  if (code === "invalid_archive" && reason !== null && Object.hasOwn(archiveTexts, reason)) {
    return archiveTexts[reason as InvalidArchiveCode][language];
  }
  return byCode[code][language];
}
