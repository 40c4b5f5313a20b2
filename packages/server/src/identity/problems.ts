/** The error codes of signing in and of sessions. */

import { type ProblemDefinition, problem } from "../kernel/problems.ts";

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const identityProblems = {
  invalid_credentials: problem(401, ["Invalid credentials", "E-mail, password or code is wrong."], ["Geçersiz kimlik bilgileri", "E-posta, parola ya da kod yanlış."]),
  refresh_token_missing: problem(401, ["Refresh cookie missing", "Log in again: the request carries no refresh cookie."], ["Yenileme çerezi yok", "Yeniden oturum açın: istekte yenileme çerezi yok."]),
  refresh_token_invalid: problem(401, ["Refresh cookie invalid", "Log in again: the refresh cookie is unknown or has expired."], ["Yenileme çerezi geçersiz", "Yeniden oturum açın: yenileme çerezi bilinmiyor ya da süresi dolmuş."]),
  refresh_token_reused: problem(401, ["Refresh cookie reused", "An old refresh cookie was used, so the session was ended. Log in again."], ["Yenileme çerezi yeniden kullanıldı", "Eski bir yenileme çerezi kullanıldığı için oturum kapatıldı. Yeniden oturum açın."]),
  too_many_attempts: problem(429, ["Too many attempts", "Too many failed attempts. Wait for the time in Retry-After, then try again."], ["Çok fazla deneme", "Çok fazla başarısız deneme. Retry-After süresi kadar bekleyip yeniden deneyin."]),
} as const satisfies Record<string, ProblemDefinition>;
