/**
 * The error catalogue: every code that a customer can meet, one line each, with its status and its words in both
 * languages. A {@link Problem} is thrown by name; `http/answer.ts` turns it into `application/problem+json` (RFC 9457).
 *
 * The words never repeat what the client sent, so no personal data can come back in an error. A code never changes
 * its meaning; the words may get better at any time.
 */

export type Language = "tr" | "en";

interface CatalogueLine {
  readonly status: number;
  readonly title: { readonly en: string; readonly tr: string };
  /** What to do about it. */
  readonly detail: { readonly en: string; readonly tr: string };
}

function line(status: number, en: readonly [string, string], tr: readonly [string, string]): CatalogueLine {
  return { status, title: { en: en[0], tr: tr[0] }, detail: { en: en[1], tr: tr[1] } };
}

// biome-ignore format: one code, one line, so that the catalogue reads as a table
export const catalogue = {
  malformed_json: line(400, ["Malformed JSON", "The body must be one well-formed JSON value in UTF-8, without repeated keys and without deep nesting."], ["Bozuk JSON", "Gövde UTF-8 kodlu, yinelenen anahtarı ve aşırı iç içe yapısı olmayan, geçerli tek bir JSON değeri olmalıdır."]),
  unknown_parameter: line(400, ["Unknown query parameter", "Remove the query parameters that this operation does not know."], ["Bilinmeyen sorgu parametresi", "Bu işlemin tanımadığı sorgu parametrelerini kaldırın."]),
  duplicate_parameter: line(400, ["Repeated query parameter", "Send each query parameter once."], ["Yinelenen sorgu parametresi", "Her sorgu parametresini bir kez gönderin."]),
  invalid_cursor: line(400, ["Invalid cursor", "Use the cursor of the previous page unchanged, with the same filters and sort, or start without one."], ["Geçersiz imleç", "Önceki sayfanın imlecini değiştirmeden, aynı filtre ve sıralama ile kullanın ya da imleçsiz başlayın."]),
  invalid_header: line(400, ["Invalid header", "A request header has a value that its definition does not allow."], ["Geçersiz başlık", "Bir istek başlığının değeri tanımına uymuyor."]),
  malformed_request: line(400, ["Malformed request", "The request could not be parsed as HTTP."], ["Bozuk istek", "İstek HTTP olarak çözümlenemedi."]),

  missing_token: line(401, ["Missing token", "Send an access token: Authorization: Bearer <token>."], ["Erişim belirteci yok", "Bir erişim belirteci gönderin: Authorization: Bearer <belirteç>."]),
  invalid_token: line(401, ["Invalid token", "The access token is not valid here. Obtain a new one."], ["Geçersiz erişim belirteci", "Erişim belirteci burada geçerli değil. Yenisini alın."]),
  token_expired: line(401, ["Token expired", "The access token has expired. Refresh it or obtain a new one."], ["Erişim belirtecinin süresi doldu", "Erişim belirtecini yenileyin ya da yenisini alın."]),
  invalid_credentials: line(401, ["Invalid credentials", "E-mail, password or code is wrong."], ["Geçersiz kimlik bilgileri", "E-posta, parola ya da kod yanlış."]),
  refresh_token_missing: line(401, ["Refresh cookie missing", "Log in again: the request carries no refresh cookie."], ["Yenileme çerezi yok", "Yeniden oturum açın: istekte yenileme çerezi yok."]),
  refresh_token_invalid: line(401, ["Refresh cookie invalid", "Log in again: the refresh cookie is unknown or has expired."], ["Yenileme çerezi geçersiz", "Yeniden oturum açın: yenileme çerezi bilinmiyor ya da süresi dolmuş."]),
  refresh_token_reused: line(401, ["Refresh cookie reused", "An old refresh cookie was used, so the session was ended. Log in again."], ["Yenileme çerezi yeniden kullanıldı", "Eski bir yenileme çerezi kullanıldığı için oturum kapatıldı. Yeniden oturum açın."]),

  insufficient_scope: line(403, ["Insufficient scope", "The access token lacks the scope that this operation needs."], ["Yetersiz kapsam", "Erişim belirtecinde bu işlemin gerektirdiği kapsam yok."]),
  insufficient_role: line(403, ["Insufficient role", "Your role in the account does not allow this operation."], ["Yetersiz rol", "Hesaptaki rolünüz bu işleme izin vermiyor."]),
  admin_required: line(403, ["Staff only", "Only staff of the platform may use this address."], ["Yalnızca platform personeli", "Bu adresi yalnızca platform personeli kullanabilir."]),
  member_required: line(403, ["Members only", "Only members of an account may use this operation; staff may not."], ["Yalnızca hesap üyeleri", "Bu işlemi yalnızca bir hesabın üyeleri kullanabilir; platform personeli kullanamaz."]),
  package_required: line(403, ["Package does not include the API", "Move the account to a package that includes the API."], ["Paket API içermiyor", "Hesabı API içeren bir pakete geçirin."]),
  feature_not_enabled: line(403, ["Feature not enabled", "This feature is not switched on for the account."], ["Özellik etkin değil", "Bu özellik hesap için açık değil."]),
  account_suspended: line(403, ["Account suspended", "The account is suspended: it can be read and restored, not written."], ["Hesap askıda", "Hesap askıya alınmış: okunabilir ve geri yüklenebilir, yazılamaz."]),
  banned: line(403, ["Banned", "Requests from here were blocked after a suspicious pattern. Contact support if this is a mistake."], ["Engellendi", "Şüpheli istekler nedeniyle buradan gelen istekler engellendi. Bir yanlışlık varsa destekle görüşün."]),
  step_up_required: line(403, ["Confirmation required", "Confirm with a fresh second-factor code (POST /v1/auth/step-up), then repeat the request."], ["Doğrulama gerekli", "Yeni bir ikinci adım kodu ile doğrulayın (POST /v1/auth/step-up), ardından isteği yineleyin."]),
  origin_not_allowed: line(403, ["Origin not allowed", "This operation may be called only from the service's own pages."], ["Kaynağa izin yok", "Bu işlem yalnızca hizmetin kendi sayfalarından çağrılabilir."]),

  not_found: line(404, ["Not found", "There is nothing at this address that you may see."], ["Bulunamadı", "Bu adreste görebileceğiniz bir şey yok."]),
  unknown_version: line(404, ["Unknown version", "This major version of the API does not exist. Use /v1."], ["Bilinmeyen sürüm", "API'nin bu ana sürümü yok. /v1 kullanın."]),
  method_not_allowed: line(405, ["Method not allowed", "This address does not know the method; the Allow header lists those it knows."], ["Yöntem kullanılamaz", "Bu adres bu yöntemi tanımıyor; tanıdıkları Allow başlığında yazar."]),
  not_acceptable: line(406, ["Not acceptable", "The answer cannot be given in a media type that the Accept header allows."], ["Kabul edilebilir değil", "Yanıt, Accept başlığının izin verdiği bir türde verilemiyor."]),
  request_timeout: line(408, ["Request too slow", "The request did not arrive whole within the time of its operation. Send it again, without pauses."], ["İstek çok yavaş", "İstek, işlemin süresi içinde tamamlanmadı. Ara vermeden yeniden gönderin."]),
  payload_too_large: line(413, ["Body too large", "The body is larger than this operation accepts."], ["Gövde çok büyük", "Gövde bu işlemin kabul ettiğinden büyük."]),
  uri_too_long: line(414, ["Address too long", "The path and query are longer than the service accepts."], ["Adres çok uzun", "Yol ve sorgu, hizmetin kabul ettiğinden uzun."]),
  unsupported_media_type: line(415, ["Unsupported media type", "Send the body with a Content-Type and Content-Encoding that this operation accepts."], ["Desteklenmeyen içerik türü", "Gövdeyi bu işlemin kabul ettiği Content-Type ve Content-Encoding ile gönderin."]),
  range_not_satisfiable: line(416, ["Range not satisfiable", "The requested range lies outside the content."], ["Aralık karşılanamıyor", "İstenen aralık içeriğin dışında."]),
  headers_too_large: line(431, ["Headers too large", "Send fewer or shorter headers."], ["Başlıklar çok büyük", "Daha az ya da daha kısa başlık gönderin."]),

  state_conflict: line(409, ["State conflict", "The resource is in a state that does not allow this."], ["Durum çakışması", "Kaynağın durumu buna izin vermiyor."]),
  idempotency_in_progress: line(409, ["Request in progress", "A request with this Idempotency-Key is still being processed. Repeat it shortly."], ["İstek sürüyor", "Bu Idempotency-Key ile bir istek hâlâ işleniyor. Kısa süre sonra yineleyin."]),
  retention_locked: line(409, ["Retention lock", "The retention lock does not allow this before it ends."], ["Saklama kilidi", "Saklama kilidi bitmeden buna izin verilmez."]),
  legal_hold: line(409, ["Legal hold", "A legal hold does not allow this until it is lifted."], ["Yasal saklama", "Yasal saklama kaldırılmadan buna izin verilmez."]),
  quota_exceeded: line(409, ["Quota exceeded", "The account's storage quota is used up."], ["Kota aşıldı", "Hesabın depolama kotası doldu."]),
  endpoint_sunset: line(410, ["Endpoint retired", "This operation has been retired; the Link header leads to what replaces it."], ["İşlem kaldırıldı", "Bu işlem kaldırıldı; yerine geçeni Link başlığındaki sayfa anlatır."]),
  share_revoked: line(410, ["Share ended", "This share was revoked or has expired."], ["Paylaşım sona erdi", "Bu paylaşım geri alındı ya da süresi doldu."]),
  download_expired: line(410, ["Download expired", "The download has expired. Start the restore again."], ["İndirmenin süresi doldu", "İndirmenin süresi doldu. Geri yüklemeyi yeniden başlatın."]),
  precondition_failed: line(412, ["Precondition failed", "The resource has changed since you read it. Read it again and repeat with its new ETag."], ["Önkoşul sağlanmadı", "Kaynak siz okuduktan sonra değişti. Yeniden okuyun ve yeni ETag ile yineleyin."]),
  precondition_required: line(428, ["Precondition required", "Send If-Match with the ETag of the resource."], ["Önkoşul gerekli", "Kaynağın ETag değeri ile If-Match gönderin."]),
  validation_failed: line(422, ["Validation failed", "The request was understood but breaks a rule; errors lists each place."], ["Doğrulama başarısız", "İstek anlaşıldı ama bir kurala uymuyor; errors her yeri tek tek gösterir."]),
  idempotency_key_reused: line(422, ["Idempotency-Key reused", "This Idempotency-Key was used for a different request. Use a new key."], ["Idempotency-Key yeniden kullanıldı", "Bu Idempotency-Key başka bir istekte kullanıldı. Yeni bir anahtar kullanın."]),
  webhook_url_blocked: line(422, ["Webhook address refused", "The address must be https and public."], ["Webhook adresi reddedildi", "Adres https ve herkese açık olmalıdır."]),
  content_mismatch: line(422, ["Content mismatch", "The content does not match the digest or size that was announced. Send it again."], ["İçerik uyuşmuyor", "İçerik bildirilen özet ya da boyutla uyuşmuyor. Yeniden gönderin."]),
  rate_limited: line(429, ["Too many requests", "Wait for the time in Retry-After, then repeat."], ["Çok fazla istek", "Retry-After süresi kadar bekleyip yineleyin."]),
  too_many_attempts: line(429, ["Too many attempts", "Too many failed attempts. Wait for the time in Retry-After, then try again."], ["Çok fazla deneme", "Çok fazla başarısız deneme. Retry-After süresi kadar bekleyip yeniden deneyin."]),
  internal_error: line(500, ["Internal error", "Something went wrong here and was recorded. Quote the request_id when you ask about it."], ["İç hata", "Bizde bir hata oluştu ve kaydedildi. Sorarken request_id değerini iletin."]),
  unavailable: line(503, ["Unavailable", "The service cannot answer right now. Repeat after the time in Retry-After."], ["Hizmet verilemiyor", "Hizmet şu anda yanıt veremiyor. Retry-After süresinden sonra yineleyin."]),
  storage_full: line(503, ["Storage full", "The service cannot store more right now. Repeat after the time in Retry-After."], ["Depolama dolu", "Hizmet şu anda daha fazla saklayamıyor. Retry-After süresinden sonra yineleyin."]),
} as const satisfies Record<string, CatalogueLine>;

export type ProblemCode = keyof typeof catalogue;

export const problemCodes = Object.keys(catalogue) as readonly ProblemCode[];

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

  get status(): number {
    return catalogue[this.code].status;
  }
}
