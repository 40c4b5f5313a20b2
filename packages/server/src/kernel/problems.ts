/**
 * The error catalogue. A *code* names one thing that can go wrong; its definition has the HTTP status and the text in both
 * languages. The codes here are those of the kernel's own stages and those that any operation may need. A domain defines
 * its own codes in its `problems.ts`. A {@link Problem} is thrown by its code; `http/answer.ts` turns it into
 * `application/problem+json` (RFC 9457).
 *
 * The text never repeats what the client sent, so an error cannot give personal data back. A code never changes its
 * meaning. Its text may be improved at any time.
 */

import type { DeclaredNames } from "./declared-names.ts";

export type Language = "tr" | "en";

export interface ProblemDefinition {
  readonly status: number;
  readonly title: { readonly en: string; readonly tr: string };
  /** What to do about it. */
  readonly detail: { readonly en: string; readonly tr: string };
}

/** Defines a code: status, then title and detail in English and in Turkish. */
export function problem(
  status: number,
  en: readonly [string, string],
  tr: readonly [string, string],
): ProblemDefinition {
  return { status, title: { en: en[0], tr: tr[0] }, detail: { en: en[1], tr: tr[1] } };
}

// biome-ignore format: one code, one line, so that the catalogue reads as a table
export const kernelProblems = {
  malformed_json: problem(400, ["Malformed JSON", "The body must be one well-formed JSON value in UTF-8, without repeated keys and without deep nesting."], ["Bozuk JSON", "Gövde UTF-8 kodlu, yinelenen anahtarı ve aşırı iç içe yapısı olmayan, geçerli tek bir JSON değeri olmalıdır."]),
  unknown_parameter: problem(400, ["Unknown query parameter", "Remove the query parameters that this operation does not support."], ["Bilinmeyen sorgu parametresi", "Bu işlemin desteklemediği sorgu parametrelerini kaldırın."]),
  duplicate_parameter: problem(400, ["Repeated query parameter", "Send each query parameter once."], ["Yinelenen sorgu parametresi", "Her sorgu parametresini bir kez gönderin."]),
  invalid_cursor: problem(400, ["Invalid cursor", "Use the cursor of the previous page unchanged, with the same filters and sort, or start without one."], ["Geçersiz imleç", "Önceki sayfanın imlecini değiştirmeden, aynı filtre ve sıralama ile kullanın ya da imleçsiz başlayın."]),
  invalid_header: problem(400, ["Invalid header", "A request header has a value that its definition does not allow."], ["Geçersiz başlık", "Bir istek başlığının değeri tanımına uymuyor."]),
  malformed_request: problem(400, ["Malformed request", "The request could not be parsed as HTTP."], ["Bozuk istek", "İstek HTTP olarak çözümlenemedi."]),

  missing_token: problem(401, ["Missing token", "Send an access token: Authorization: Bearer <token>."], ["Erişim belirteci yok", "Bir erişim belirteci gönderin: Authorization: Bearer <belirteç>."]),
  invalid_token: problem(401, ["Invalid token", "The access token is not valid here. Obtain a new one."], ["Geçersiz erişim belirteci", "Erişim belirteci burada geçerli değil. Yenisini alın."]),
  token_expired: problem(401, ["Token expired", "The access token has expired. Refresh it or obtain a new one."], ["Erişim belirtecinin süresi doldu", "Erişim belirtecini yenileyin ya da yenisini alın."]),

  insufficient_scope: problem(403, ["Insufficient scope", "The access token lacks the scope that this operation needs."], ["Yetersiz kapsam", "Erişim belirtecinde bu işlemin gerektirdiği kapsam yok."]),
  insufficient_role: problem(403, ["Insufficient role", "Your role in the account does not allow this operation."], ["Yetersiz rol", "Hesaptaki rolünüz bu işleme izin vermiyor."]),
  admin_required: problem(403, ["Staff only", "Only staff of the platform may use this address."], ["Yalnızca platform personeli", "Bu adresi yalnızca platform personeli kullanabilir."]),
  member_required: problem(403, ["Members only", "Only members of an account may use this operation; staff may not."], ["Yalnızca hesap üyeleri", "Bu işlemi yalnızca bir hesabın üyeleri kullanabilir; platform personeli kullanamaz."]),
  package_required: problem(403, ["Package does not include the API", "Move the account to a package that includes the API."], ["Paket API içermiyor", "Hesabı API içeren bir pakete geçirin."]),
  feature_not_enabled: problem(403, ["Feature not enabled", "This feature is not switched on for the account."], ["Özellik etkin değil", "Bu özellik hesap için açık değil."]),
  account_suspended: problem(403, ["Account suspended", "The account is suspended. You can read and restore, but not write."], ["Hesap askıda", "Hesap askıya alındı. Okuyabilir ve geri yükleyebilirsiniz, yazamazsınız."]),
  banned: problem(403, ["Banned", "Requests from here were blocked after a suspicious pattern. Contact support if this is a mistake."], ["Engellendi", "Şüpheli istekler nedeniyle buradan gelen istekler engellendi. Bir yanlışlık varsa destekle görüşün."]),
  step_up_required: problem(403, ["Confirmation required", "Confirm with a fresh second-factor code (POST /v1/auth/step-up), then repeat the request."], ["Doğrulama gerekli", "Yeni bir ikinci adım kodu ile doğrulayın (POST /v1/auth/step-up), ardından isteği yineleyin."]),
  origin_not_allowed: problem(403, ["Origin not allowed", "This operation may be called only from the service's own pages."], ["Kaynağa izin yok", "Bu işlem yalnızca hizmetin kendi sayfalarından çağrılabilir."]),

  not_found: problem(404, ["Not found", "This address does not exist, or you may not see it."], ["Bulunamadı", "Bu adres yok ya da görme yetkiniz yok."]),
  unknown_version: problem(404, ["Unknown version", "This major version of the API does not exist. Use /v1."], ["Bilinmeyen sürüm", "API'nin bu ana sürümü yok. /v1 kullanın."]),
  method_not_allowed: problem(405, ["Method not allowed", "This address does not support the method; the Allow header lists the supported methods."], ["Yöntem kullanılamaz", "Bu adres bu yöntemi desteklemiyor; desteklenen yöntemler Allow başlığındadır."]),
  not_acceptable: problem(406, ["Not acceptable", "The answer is not available in a media type that the Accept header allows."], ["Kabul edilebilir değil", "Yanıt, Accept başlığının izin verdiği bir türde verilemiyor."]),
  request_timeout: problem(408, ["Request too slow", "The request did not arrive completely before the operation's deadline. Send it again without pauses."], ["İstek çok yavaş", "İstek, işlem için verilen sürede tamamlanmadı. Ara vermeden yeniden gönderin."]),
  payload_too_large: problem(413, ["Body too large", "The body is larger than this operation accepts."], ["Gövde çok büyük", "Gövde bu işlemin kabul ettiğinden büyük."]),
  uri_too_long: problem(414, ["Address too long", "The path and query are longer than the service accepts."], ["Adres çok uzun", "Yol ve sorgu, hizmetin kabul ettiğinden uzun."]),
  unsupported_media_type: problem(415, ["Unsupported media type", "Send the body with a Content-Type and Content-Encoding that this operation accepts."], ["Desteklenmeyen içerik türü", "Gövdeyi bu işlemin kabul ettiği Content-Type ve Content-Encoding ile gönderin."]),
  range_not_satisfiable: problem(416, ["Range not satisfiable", "The requested range lies outside the content."], ["Aralık karşılanamıyor", "İstenen aralık içeriğin dışında."]),
  headers_too_large: problem(431, ["Headers too large", "Send fewer or shorter headers."], ["Başlıklar çok büyük", "Daha az ya da daha kısa başlık gönderin."]),

  state_conflict: problem(409, ["State conflict", "The resource is in a state that does not allow this."], ["Durum çakışması", "Kaynağın durumu buna izin vermiyor."]),
  idempotency_in_progress: problem(409, ["Request in progress", "A request with this Idempotency-Key is still being processed. Repeat it shortly."], ["İstek sürüyor", "Bu Idempotency-Key ile bir istek hâlâ işleniyor. Kısa süre sonra yineleyin."]),
  endpoint_sunset: problem(410, ["Endpoint retired", "This operation has been removed. The page in the Link header names its replacement."], ["İşlem kaldırıldı", "Bu işlem kaldırıldı. Yerine geçen işlem Link başlığındaki sayfada yazar."]),
  precondition_failed: problem(412, ["Precondition failed", "The resource has changed since you read it. Read it again and repeat with its new ETag."], ["Önkoşul sağlanmadı", "Kaynak siz okuduktan sonra değişti. Yeniden okuyun ve yeni ETag ile yineleyin."]),
  precondition_required: problem(428, ["Precondition required", "Send If-Match with the ETag of the resource."], ["Önkoşul gerekli", "Kaynağın ETag değeri ile If-Match gönderin."]),
  validation_failed: problem(422, ["Validation failed", "The request breaks one or more rules; errors lists each field."], ["Doğrulama başarısız", "İstek bir ya da daha fazla kurala uymuyor; errors her alanı tek tek gösterir."]),
  idempotency_key_reused: problem(422, ["Idempotency-Key reused", "This Idempotency-Key was used for a different request. Use a new key."], ["Idempotency-Key yeniden kullanıldı", "Bu Idempotency-Key başka bir istekte kullanıldı. Yeni bir anahtar kullanın."]),
  rate_limited: problem(429, ["Too many requests", "Wait for the time in Retry-After, then repeat."], ["Çok fazla istek", "Retry-After süresi kadar bekleyip yineleyin."]),
  internal_error: problem(500, ["Internal error", "An internal error occurred and was recorded. Give the request_id to support."], ["İç hata", "Bir iç hata oluştu ve kaydedildi. Destek isterken request_id değerini iletin."]),
  unavailable: problem(503, ["Unavailable", "The service cannot answer right now. Repeat after the time in Retry-After."], ["Hizmet verilemiyor", "Hizmet şu anda yanıt veremiyor. Retry-After süresinden sonra yineleyin."]),
  storage_full: problem(503, ["Storage full", "The service cannot store more right now. Repeat after the time in Retry-After."], ["Depolama dolu", "Hizmet şu anda daha fazla saklayamıyor. Retry-After süresinden sonra yineleyin."]),
} as const satisfies Record<string, ProblemDefinition>;

/** Every code that the kernel or a domain defines. */
export type ProblemCode = DeclaredNames["problemCode"];

/** The definitions of all codes. */
export type ProblemCatalogue = Readonly<Record<ProblemCode, ProblemDefinition>>;

/** Groups codes by status. The statuses keep the order in which the codes first have them. */
export function groupedByStatus<Code extends string>(
  problems: Readonly<Record<Code, ProblemDefinition>>,
): Readonly<Record<Code, ProblemDefinition>> {
  const entries = Object.entries<ProblemDefinition>(problems);
  const groups = Map.groupBy(entries, ([, { status }]) => status);
  return Object.fromEntries([...groups.values()].flat()) as Record<Code, ProblemDefinition>;
}

/** One place in the request that is wrong; `pointer` is a JSON Pointer into body, query, path or headers. */
export interface FieldError {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

export interface ProblemExtras {
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of this code alone, e.g. `policy` of `rate_limited`. */
  readonly members?: Readonly<Record<string, string | number>>;
  /** The fault behind it, for the log; never shown. */
  readonly cause?: unknown;
}

/** An answer from the catalogue, thrown. It is an outcome, not a fault: it is not reported as an error. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    super(code, { cause: extras.cause });
    this.name = "Problem";
    this.code = code;
    this.extras = extras;
  }
}
