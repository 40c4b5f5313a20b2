/** Why a restore failed, in words. They never name a file: a path is personal data. */

import type { Language } from "../kernel/problems.ts";
import type { FailureCode } from "./rules.ts";

// biome-ignore format: one code per line, so that the texts read as a table
const byCode: Readonly<Record<FailureCode, Readonly<Record<Language, string>>>> = {
  content_damaged: { en: "Some files cannot be read; warnings names them. Restore the others with on_damage \"skip\", or use another snapshot.", tr: "Bazı dosyalar okunamıyor; warnings bunları gösterir. Diğerlerini on_damage \"skip\" ile geri yükleyin ya da başka bir yedek kullanın." },
  snapshot_deleted: { en: "The snapshot was deleted meanwhile.", tr: "Yedek bu arada silindi." },
  canceled: { en: "The restore was canceled.", tr: "Geri yükleme iptal edildi." },
  agent_absent: { en: "The agent has not reported for 24 hours. Start the restore again when the machine is on.", tr: "Ajan 24 saattir bildirim göndermedi. Makine açıkken geri yüklemeyi yeniden başlatın." },
  agent_revoked: { en: "The agent was revoked, or lost the vault.", tr: "Ajan iptal edildi ya da kasaya erişimi kaldırıldı." },
  target_refused: { en: "The machine does not permit restores to this place. Its owner sets what it permits.", tr: "Makine bu konuma geri yüklemeye izin vermiyor. İzinleri makinenin sahibi belirler." },
  target_full: { en: "There is not enough free space on the machine.", tr: "Makinede yeterli boş alan yok." },
  write_failed: { en: "The machine could not write the files.", tr: "Makine dosyaları yazamadı." },
  internal: { en: "An internal error occurred and was recorded. Start the restore again.", tr: "Bir iç hata oluştu ve kaydedildi. Geri yüklemeyi yeniden başlatın." },
};

export function failureDetail(code: FailureCode, language: Language): string {
  return byCode[code][language];
}
