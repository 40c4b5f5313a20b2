/** Why a restore failed, in words. They never name a file: a path is personal data. */

import type { Language } from "../kernel/problems.ts";
import type { FailureCode } from "./rules.ts";

// biome-ignore format: one code per line, so that the texts read as a table
const byCode: Readonly<Record<FailureCode, Readonly<Record<Language, string>>>> = {
  content_damaged: { en: "Some files cannot be read; warnings names them. Restore the others with on_damage \"skip\", or use another snapshot.", tr: "Bazı dosyalar okunamıyor; warnings bunları gösterir. Diğerlerini on_damage \"skip\" ile geri yükleyin ya da başka bir yedek kullanın." },
  snapshot_deleted: { en: "The snapshot was deleted meanwhile.", tr: "Yedek bu arada silindi." },
  canceled: { en: "The restore was canceled.", tr: "Geri yükleme iptal edildi." },
  internal: { en: "An internal error occurred and was recorded. Start the restore again.", tr: "Bir iç hata oluştu ve kaydedildi. Geri yüklemeyi yeniden başlatın." },
};

export function failureDetail(code: FailureCode, language: Language): string {
  return byCode[code][language];
}
