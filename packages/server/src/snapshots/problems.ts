/** The error codes of snapshots. */

import { type ProblemDefinition, problem } from "../kernel/problems.ts";

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const snapshotProblems = {
  retention_locked: problem(409, ["Retention lock", "The retention lock does not allow this before it ends."], ["Saklama kilidi", "Saklama kilidi bitmeden buna izin verilmez."]),
  legal_hold: problem(409, ["Legal hold", "A legal hold does not allow this until it is lifted."], ["Yasal saklama", "Yasal saklama kaldırılmadan buna izin verilmez."]),
  snapshot_expired: problem(410, ["Snapshot expired", "The content of this snapshot is no longer kept. Use a newer snapshot of the source."], ["Yedeğin süresi doldu", "Bu yedeğin içeriği artık saklanmıyor. Kaynağın daha yeni bir yedeğini kullanın."]),
  content_mismatch: problem(422, ["Content mismatch", "The content does not match the digest or size that was announced. Send it again."], ["İçerik uyuşmuyor", "İçerik bildirilen özet ya da boyutla uyuşmuyor. Yeniden gönderin."]),
  invalid_archive: problem(422, ["Invalid archive", "The archive cannot be read; errors says where and why. Nothing of it was kept as a snapshot."], ["Geçersiz arşiv", "Arşiv okunamıyor; errors nerede ve neden olduğunu gösterir. Yedek olarak hiçbir şey saklanmadı."]),
} as const satisfies Record<string, ProblemDefinition>;
