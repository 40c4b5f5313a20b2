// GENERATED from openapi.json by `npm run generate`. Do not edit.

import type { BytesOperation, CallOptions, ListOperation, Operation, ReadOperation } from "./operation.ts";
import type {
  Accepted,
  AccessToken,
  Account,
  AccountChange,
  AccountLimit,
  AccountLimitReset,
  AccountLimitSet,
  AdminAccountPage,
  AdminApplication,
  AdminApplicationPage,
  AdminAuditChain,
  AdminAuditPage,
  AdminBanPage,
  AdminErasures,
  AdminJobPage,
  AdminLimitRequestPage,
  AdminMemberPage,
  AdminOverview,
  AdminRateLimits,
  AdminRestorePage,
  AdminSnapshotPage,
  AdminWebhookDeliveryPage,
  AdminWebhookPage,
  Agent,
  AgentChange,
  AgentCreated,
  AgentKeys,
  AgentPage,
  AgentReplacement,
  ApplicationAccepted,
  ApplicationApproved,
  AuditChain,
  AuditPage,
  AuditShare,
  AuditSharePage,
  AuditShareRequest,
  AuthorizationServerMetadata,
  Ban,
  BatchResults,
  ClockMove,
  ClockTime,
  CodeChallenge,
  CreatedSnapshot,
  DeviceAnswer,
  DeviceRequest,
  DownloadLink,
  Enrolment,
  EnrolmentCodeRequest,
  EnrolmentCompletion,
  EnrolmentRequest,
  Erasures,
  EventTypes,
  Events,
  FileVersionPage,
  FoundFilePage,
  Health,
  Hold,
  Introspection,
  Invitation,
  LoginRequest,
  Me,
  MeChange,
  Member,
  MemberChange,
  MemberPage,
  NewAgent,
  NewApplication,
  NewAuditShare,
  NewBan,
  NewDownloadLink,
  NewHold,
  NewLock,
  NewOauthClient,
  NewRateLimitRequest,
  NewRestore,
  NewSnapshot,
  NewSnapshots,
  NewSource,
  NewTaxpayer,
  NewVault,
  NewWebhook,
  NightsPage,
  OauthClient,
  OauthClientChange,
  OauthClientCreated,
  OauthClientPage,
  OauthGrant,
  OauthGrantPage,
  Order,
  OrderEnd,
  OrderReport,
  OrderStart,
  Orders,
  PasswordChange,
  PasswordReset,
  PasswordResetRequest,
  PendingAct,
  PendingActs,
  PhoneChange,
  PhoneConfirmation,
  PublicKeys,
  RateLimitRequest,
  RateLimitRequestPage,
  RateLimits,
  ReceiptKeys,
  RecoveryCodes,
  RecoveryKit,
  RecoveryKitFile,
  RecoveryKits,
  ResetDecision,
  Restore,
  RestorePage,
  RestoreWarningPage,
  RestoreWithPaths,
  Retention,
  RetentionPolicyChange,
  RetentionSimulated,
  RetentionSimulation,
  RotatedSecret,
  SecondFactorReset,
  SecretRotation,
  Session,
  SessionPage,
  SharedAuditPage,
  SignatureFinding,
  SignatureQuestion,
  SmsCodeRequest,
  Snapshot,
  SnapshotChange,
  SnapshotDiffPage,
  SnapshotPage,
  SnapshotWarningPage,
  Source,
  SourceChange,
  SourcePage,
  SourceWriterChange,
  SourceWriterList,
  StepUpRequest,
  StoredFile,
  Taxpayer,
  TaxpayerChange,
  TaxpayerPage,
  TokenAnswer,
  TokenReference,
  TokenRequest,
  TotpConfirmation,
  TotpSetup,
  TreePage,
  UpkeepChange,
  UpkeepPaused,
  UsagePage,
  UsageTotal,
  Vault,
  VaultChange,
  VaultPage,
  Webhook,
  WebhookChange,
  WebhookCreated,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookDeliveryPage,
  WebhookPage,
  WebhookQueued,
  WebhookReplay,
  WebhookSecretRotated,
  WebhookSecretRotation,
  WebhookStatistics,
  WebhookTestSent,
  Withdrawal,
} from "./schemas.generated.ts";
import type { RequestBody } from "./streams.ts";

/** Every operation of the API. */
export interface EmanetApi {
  readonly account: {
    /**
     * Read the account. `GET /v1/account`
     *
     * The account, its package and its entitlements.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, or a code of every operation.
     */
    readonly get: ReadOperation<Record<string, never>, Account>;
    /**
     * Change the account. `PATCH /v1/account`
     *
     * Changes the name, the language, and whether SMS codes may be used to sign in. Owners only. To change `sms_sign_in` you must be a person with a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `precondition_failed`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      readonly body?: AccountChange;
    }, Account>;
    /**
     * Close the account. `POST /v1/account/close`
     *
     * The account is closed in 72 hours. Until then everything goes on as before, every owner is mailed, and any owner cancels it (`pending_acts.cancel`). Then members can read and restore for 90 days, until `erase_after` of the account. Nothing expires, nobody writes, and open uploads end. After that every vault is erased; `erasures.list` has the proofs. Holds and locks can still be set, and keep their vault until they end. Refused while a snapshot is held or locked, now and when the time has come. Owners only, with a fresh second factor.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `legal_hold`, `member_required`, `missing_token`, `retention_locked`, `state_conflict`, `step_up_required`, `storage_full`, or a code of every operation.
     */
    readonly close: Operation<Record<string, never>, PendingAct>;
    /**
     * Export the account. `GET /v1/account/export`
     *
     * Everything that the service has about the account, a JSON object a line: `account`, `member`, `oauth_client`, `vault`, `taxpayer`, `source`, `retention_policy`, `agent`, `webhook`, `snapshot`. The first line says what it is, the last one counts the others; a file without it is not whole. The content of a snapshot is `snapshots.read_archive`, its proof `snapshots.read_receipt`, the audit trail `audit.export`. Tax numbers are masked. Secrets are not in it. This also works while the account is closed. Owners only.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, or a code of every operation.
     */
    readonly export: BytesOperation<Record<string, never>>;
  };
  readonly oauthClients: {
    /**
     * List the OAuth clients. `GET /v1/oauth-clients`
     *
     * Newest first.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, OauthClientPage, OauthClientPage["data"][number]>;
    /**
     * Create an OAuth client. `POST /v1/oauth-clients`
     *
     * For unattended programs (`client_credentials`, the default) and for software that acts for your members (`authorization_code`). The secret is shown only in this answer. The client's role can be at most your role, and you must have all its scopes. Without `role` it gets the narrowest role that may use all its scopes. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: NewOauthClient;
    }, OauthClientCreated>;
    /**
     * Read an OAuth client. `GET /v1/oauth-clients/{id}`
     *
     * The answer has no secret. A secret is shown only once, when it is created.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** The `client_id`. */
      readonly id: string;
    }, OauthClient>;
    /**
     * Change an OAuth client. `PATCH /v1/oauth-clients/{id}`
     *
     * Changes name, scopes, role and vaults. Removed rights are also removed from tokens that were issued before. The client's role can be at most your role, and you must have all its scopes.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      /** The `client_id`. */
      readonly id: string;
      readonly body?: OauthClientChange;
    }, OauthClient>;
    /**
     * Remove an OAuth client. `DELETE /v1/oauth-clients/{id}`
     *
     * Its tokens are refused from now on. This also works while the account is suspended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly delete: Operation<{
      /** The `client_id`. */
      readonly id: string;
    }, void>;
    /**
     * Replace a client's secret. `POST /v1/oauth-clients/{id}/rotate-secret`
     *
     * Creates a new secret, which is shown only in this answer. The old secret stays valid for `overlap_s` (default one day), so that no program has to stop; 0 ends it at once. `If-Match` with the client's ETag is required, so that two people do not replace each other's secret by mistake. The client has a new ETag afterwards.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `precondition_required`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly rotateSecret: Operation<{
      /** The `client_id`. */
      readonly id: string;
      readonly body?: SecretRotation;
    }, RotatedSecret, CallOptions & { readonly ifMatch: string }>;
    /**
     * Review an OAuth client. `POST /v1/oauth-clients/{id}/review`
     *
     * For a client with `review_since`: the member responsible for it was removed or demoted, or their password was reset. The client gets its scopes back, and you are responsible for it from now on. Its old secrets stay valid: rotate them if the former member may know one.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly review: Operation<{
      /** The `client_id`. */
      readonly id: string;
    }, OauthClient>;
  };
  readonly members: {
    /**
     * List the members. `GET /v1/members`
     *
     * Oldest first, without removed members.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`created_at`). */
      readonly sort?: "created_at" | "-created_at" | undefined;
    }, MemberPage, MemberPage["data"][number]>;
    /**
     * Invite a member. `POST /v1/members`
     *
     * Mails an enrolment link that works once, for a week. Only owners can invite owners. 409 when the account already has the address, invited or active. Other accounts can invite the same address: it belongs to the person who enrols it first. At most 20 invitation mails a day per account.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly invite: Operation<{
      readonly body: Invitation;
    }, Member>;
    /**
     * Read a member. `GET /v1/members/{id}`
     *
     * One member of the account.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the member. */
      readonly id: string;
    }, Member>;
    /**
     * Change a member's role. `PATCH /v1/members/{id}`
     *
     * Applies from the member's next request on. Only owners can make or change owners, and the last owner cannot be changed. If the new role is narrower, the member's programs can only write snapshots until an owner reviews them.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `precondition_failed`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      /** Id of the member. */
      readonly id: string;
      readonly body: MemberChange;
    }, Member>;
    /**
     * Remove a member. `DELETE /v1/members/{id}`
     *
     * Ends all sign-ins of the member at once. Their clients and grants can only write snapshots until an owner reviews them. Only owners can remove owners, and the last owner cannot be removed. This also works while the account is suspended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `precondition_failed`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly remove: Operation<{
      /** Id of the member. */
      readonly id: string;
    }, void>;
    /**
     * Send an enrolment link again. `POST /v1/members/{id}/resend-invitation`
     *
     * For a member who has not enrolled yet. The link in the earlier mail stops working. Once an hour per address; it counts towards the account's 20 mails a day.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly resendInvitation: Operation<{
      /** Id of the member. */
      readonly id: string;
    }, Member>;
    /**
     * Confirm or cancel the reset of a second factor. `POST /v1/members/{id}/second-factor-reset`
     *
     * Staff have started a reset of this member's authenticator. It takes effect after 24 hours. With this operation an owner confirms it at once or cancels it.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly decideSecondFactorReset: Operation<{
      /** Id of the member. */
      readonly id: string;
      readonly body: ResetDecision;
    }, void>;
    /**
     * Erase a former member. `POST /v1/members/{id}/erase`
     *
     * For requests under KVKK and GDPR. Deletes name, e-mail address, phone number and factors of a member who was removed before. What they did stays in the audit trail under an id, with `erased` in place of the name; its hashes do not change. It cannot be undone. Only by an owner. A second call changes nothing. 409 for somebody who is still a member.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly erase: Operation<{
      /** Id of the former member. */
      readonly id: string;
    }, void>;
  };
  readonly me: {
    /**
     * Read your own data. `GET /v1/me`
     *
     * The person of the access token.
     *
     * @throws ProblemError with `insufficient_scope`, `missing_token`, `not_found`, or a code of every operation.
     */
    readonly get: ReadOperation<Record<string, never>, Me>;
    /**
     * Change your name or language. `PATCH /v1/me`
     *
     * Phone, password and second factor have separate operations, which need a fresh code.
     *
     * @throws ProblemError with `insufficient_scope`, `malformed_json`, `missing_token`, `not_found`, `precondition_failed`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      readonly body?: MeChange;
    }, Me>;
    /**
     * Change your password. `POST /v1/me/password`
     *
     * Needs the current password and a fresh second factor. Ends all your other sessions. Attempts count per session, together with step-ups. A new password has at least 12 characters and is not a common password.
     *
     * @throws ProblemError with `insufficient_scope`, `invalid_credentials`, `malformed_json`, `missing_token`, `step_up_required`, `storage_full`, `too_many_attempts`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly changePassword: Operation<{
      readonly body: PasswordChange;
    }, void>;
    /**
     * Set up a new authenticator. `POST /v1/me/totp`
     *
     * Shows the secret of a new authenticator. The old one works until you send a code of the new one (`/v1/me/totp/confirm`).
     *
     * @throws ProblemError with `insufficient_scope`, `missing_token`, `not_found`, `step_up_required`, `storage_full`, or a code of every operation.
     */
    readonly beginTotp: Operation<Record<string, never>, TotpSetup>;
    /**
     * Switch to the new authenticator. `POST /v1/me/totp/confirm`
     *
     * Takes a code of the new authenticator. Ends all your other sessions and makes new recovery codes.
     *
     * @throws ProblemError with `insufficient_scope`, `invalid_credentials`, `malformed_json`, `missing_token`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly confirmTotp: Operation<{
      readonly body: TotpConfirmation;
    }, RecoveryCodes>;
    /**
     * Make new recovery codes. `POST /v1/me/recovery-codes`
     *
     * The old codes stop working.
     *
     * @throws ProblemError with `insufficient_scope`, `missing_token`, `step_up_required`, `storage_full`, or a code of every operation.
     */
    readonly renewRecoveryCodes: Operation<Record<string, never>, RecoveryCodes>;
    /**
     * Change your phone. `POST /v1/me/phone`
     *
     * Sends a code to the new number. The number changes when you send the code (`/v1/me/phone/confirm`).
     *
     * @throws ProblemError with `insufficient_scope`, `malformed_json`, `missing_token`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly requestPhoneCode: Operation<{
      readonly body: PhoneChange;
    }, CodeChallenge>;
    /**
     * Confirm your new phone. `POST /v1/me/phone/confirm`
     *
     * Needs the code that was sent to the new phone.
     *
     * @throws ProblemError with `insufficient_scope`, `invalid_credentials`, `malformed_json`, `missing_token`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly confirmPhone: Operation<{
      readonly body: PhoneConfirmation;
    }, void>;
  };
  readonly enrolment: {
    /**
     * Open an enrolment. `POST /v1/enrolment`
     *
     * Shows the person of the link and the data for the authenticator. It can be repeated; only completing the enrolment uses the link up. 409 when the address now signs in to another account.
     *
     * @throws ProblemError with `malformed_json`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly begin: Operation<{
      readonly body: EnrolmentRequest;
    }, Enrolment>;
    /**
     * Verify the phone. `POST /v1/enrolment/phone`
     *
     * Sends a code to the phone in the application, or to the phone in this request.
     *
     * @throws ProblemError with `malformed_json`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly requestCode: Operation<{
      readonly body: EnrolmentCodeRequest;
    }, CodeChallenge>;
    /**
     * Complete an enrolment. `POST /v1/enrolment/complete`
     *
     * Sets password, authenticator and phone in one step, uses the link up and shows the recovery codes, only in this answer. After a reset of the second factor, `password` must be your current password, because access to the mailbox alone is not enough. An address belongs to the person who enrols it first: 409 for everybody else.
     *
     * @throws ProblemError with `invalid_credentials`, `malformed_json`, `not_found`, `state_conflict`, `storage_full`, `too_many_attempts`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly complete: Operation<{
      readonly body: EnrolmentCompletion;
    }, RecoveryCodes>;
  };
  readonly oauthGrants: {
    /**
     * List the grants of members to programs. `GET /v1/oauth-grants`
     *
     * Newest first, including agents.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, OauthGrantPage, OauthGrantPage["data"][number]>;
    /**
     * Read a grant. `GET /v1/oauth-grants/{id}`
     *
     * The ETag of the answer can be sent as `If-Match` when you end the grant.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the grant. */
      readonly id: string;
    }, OauthGrant>;
    /**
     * End a grant. `DELETE /v1/oauth-grants/{id}`
     *
     * Its tokens are refused from now on. This also works while the account is suspended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `precondition_failed`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly end: Operation<{
      /** Id of the grant. */
      readonly id: string;
    }, void>;
    /**
     * Review a grant. `POST /v1/oauth-grants/{id}/review`
     *
     * For a grant with `review_since`: its member was removed or demoted, or replaced a password or second factor. The program gets its scopes back and acts for you from now on.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly review: Operation<{
      /** Id of the grant. */
      readonly id: string;
    }, OauthGrant>;
  };
  readonly auth: {
    /**
     * Log in. `POST /v1/auth/login`
     *
     * Checks e-mail, password and second factor. The answer has an access token, to be kept in memory, and sets the refresh cookie. The answer is the same for every wrong value. At most 5 attempts a minute per e-mail and client address; after ten failures in a row the waiting time grows.
     *
     * @throws ProblemError with `invalid_credentials`, `malformed_json`, `origin_not_allowed`, `storage_full`, `too_many_attempts`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly login: Operation<{
      readonly body: LoginRequest;
    }, AccessToken>;
    /**
     * Renew the access token. `POST /v1/auth/refresh`
     *
     * Uses the refresh cookie and takes no body (an empty JSON object counts as none). Each use replaces the cookie. For 30 seconds the previous cookie gets the same successor (two tabs, a lost answer). An older cookie ends the whole session.
     *
     * @throws ProblemError with `origin_not_allowed`, `refresh_token_invalid`, `refresh_token_missing`, `refresh_token_reused`, `storage_full`, or a code of every operation.
     */
    readonly refresh: Operation<Record<string, never>, AccessToken>;
    /**
     * Log out. `POST /v1/auth/logout`
     *
     * Ends the session of the refresh cookie, or of the access token if there is no cookie, and deletes the cookie. Access tokens of the session are refused from then on. The answer is the same when there is no session to end.
     *
     * @throws ProblemError with `origin_not_allowed`, `storage_full`, or a code of every operation.
     */
    readonly logout: Operation<Record<string, never>, void>;
    /**
     * Request an SMS one-time code. `POST /auth/sms-otp/request`
     *
     * Sends six digits to the verified phone, to be used as `totp_code` together with `otp_challenge_id`. The answer is always the same. A message is sent only if e-mail and password are right, the phone is verified and the account allows SMS codes. With an access token, and without e-mail and password, the code is for a step-up; a message is sent only if the phone is verified and the account allows SMS codes. Once a minute and five times an hour per e-mail and client address. Each request counts towards the login lockout until the next complete login, whether or not the password was right.
     *
     * @throws ProblemError with `malformed_json`, `origin_not_allowed`, `storage_full`, `too_many_attempts`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly requestSmsCode: Operation<{
      readonly body?: SmsCodeRequest;
    }, CodeChallenge>;
    /**
     * Confirm with a fresh code. `POST /v1/auth/step-up`
     *
     * Checks a second factor again. The answer has an access token whose `auth_time` is now, with the scopes of the token in the request. Actions that cannot be undone need an `auth_time` of less than ten minutes ago (403 `step_up_required`). Failures count per session, by the rules of the lockout; failed logins of other people with your e-mail do not count.
     *
     * @throws ProblemError with `insufficient_scope`, `invalid_credentials`, `malformed_json`, `missing_token`, `storage_full`, `too_many_attempts`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly stepUp: Operation<{
      readonly body: StepUpRequest;
    }, AccessToken>;
    /**
     * Request a password reset. `POST /v1/auth/password-reset/request`
     *
     * Mails a link that works once, for an hour. Earlier links stay valid; while three links are valid, no other link is mailed. The answer is the same whether or not the address is known.
     *
     * @throws ProblemError with `malformed_json`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly requestPasswordReset: Operation<{
      readonly body: PasswordResetRequest;
    }, Accepted>;
    /**
     * Set a new password. `POST /v1/auth/password-reset`
     *
     * Uses up the link in the mail and all other reset links. Ends all sessions. The second factor does not change and is needed at the next login.
     *
     * @throws ProblemError with `malformed_json`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly resetPassword: Operation<{
      readonly body: PasswordReset;
    }, void>;
  };
  readonly sessions: {
    /**
     * List your sessions. `GET /v1/sessions`
     *
     * Your sessions, newest first.
     *
     * @throws ProblemError with `insufficient_scope`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, SessionPage, SessionPage["data"][number]>;
    /**
     * Read one of your sessions. `GET /v1/sessions/{id}`
     *
     * The ETag changes when the session is used. The field `current` depends on the caller and does not change the ETag.
     *
     * @throws ProblemError with `insufficient_scope`, `missing_token`, `not_found`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the session. */
      readonly id: string;
    }, Session>;
    /**
     * End a session. `DELETE /v1/sessions/{id}`
     *
     * Ends one of your sessions. Its access and refresh tokens are refused from now on.
     *
     * @throws ProblemError with `insufficient_scope`, `missing_token`, `not_found`, `precondition_failed`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly end: Operation<{
      /** Id of the session. */
      readonly id: string;
    }, void>;
  };
  readonly agents: {
    /**
     * List the agents. `GET /v1/agents`
     *
     * Newest first, without revoked ones. A client that is held to vaults sees the agents of these vaults, and of their vaults only these.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, AgentPage, AgentPage["data"][number]>;
    /**
     * Register an agent. `POST /v1/agents`
     *
     * Registers the signing key of an agent with vaults, by default with the default vault. An agent that was allowed by its device code registers itself, and so does an OAuth client that has no agent yet; without `vaults`, with those that it is held to. A manager or owner with a fresh second factor can register the key of a client with `client_id`. `signature` is Ed25519 over `emanet v2 agent`, a zero byte and the SHA-256 of: the account's id (16 bytes), the session's id of the token (`sid`) or the `client_id` (16 bytes), and the public key (32 bytes). The same request again gets the same answer; a client that registered itself adds vaults this way. A key that was revoked is never accepted again.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `package_required`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: NewAgent;
    }, AgentCreated>;
    /**
     * Read an agent. `GET /v1/agents/{id}`
     *
     * Its machine, what the machine permits, its vaults, and how its last upload ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the agent. */
      readonly id: string;
    }, Agent>;
    /**
     * Change an agent. `PATCH /v1/agents/{id}`
     *
     * The agent itself may change everything but `vaults`; the call also says that it lives, and the answer names the newest version of the agent. A manager or owner with a fresh second factor may change `name` and `vaults`. A vault that was taken from an agent cannot be given back to the same key.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      /** Id of the agent. */
      readonly id: string;
      readonly body?: AgentChange;
    }, Agent>;
    /**
     * Revoke an agent. `DELETE /v1/agents/{id}`
     *
     * Its tokens and its key are refused from now on, for uploads in progress too. What it stored stays. The same key is never accepted again. This also works while the account is suspended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly delete: Operation<{
      /** Id of the agent. */
      readonly id: string;
    }, void>;
    /**
     * Replace an agent whose key is lost. `POST /v1/agents/{id}/replace`
     *
     * For a machine that lost its signing key: it signs in again, which makes a new agent, and a manager or owner lets the new agent take the place of the old one. The new agent gets the vaults and the sources of the old one; the old one is revoked, and its open orders fail. Only for agents of device grants.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly replace: Operation<{
      /** Id of the agent. */
      readonly id: string;
      readonly body: AgentReplacement;
    }, Agent>;
    /**
     * Read the writer's keys. `GET /v1/agents/{id}/keys`
     *
     * For the agent itself; everybody else gets 404. Read them again when an upload is refused with `outdated_keys`.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly getKeys: ReadOperation<{
      /** Id of the agent. */
      readonly id: string;
    }, AgentKeys>;
  };
  readonly uploads: {
    /**
     * Begin an upload. `POST /v1/snapshots/{id}/upload/begin`
     *
     * Begins the session of an upload, with a base snapshot of the same source if the client has one. The snapshot becomes `running`. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly begin: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Reserve ordinals. `POST /v1/snapshots/{id}/upload/ordinals`
     *
     * Reserves numbers for new segments and nodes. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly ordinals: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Offer segments. `POST /v1/snapshots/{id}/upload/offer`
     *
     * Asks which segments and blocks are stored. An upload is told of its own content, and of verified content of others if the client may read snapshots. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly offer: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Offer tree nodes. `POST /v1/snapshots/{id}/upload/nodes`
     *
     * Asks which tree nodes are stored. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly nodes: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Register packs. `POST /v1/snapshots/{id}/upload/register`
     *
     * Registers packs that are stored, and what they hold. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly register: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Renew an upload. `POST /v1/snapshots/{id}/upload/renew`
     *
     * Extends the lease of an upload by an hour. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly renew: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Complete an upload. `POST /v1/snapshots/{id}/upload/complete`
     *
     * Completes the snapshot with the manifest that the agent has signed. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly complete: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Abandon an upload. `POST /v1/snapshots/{id}/upload/abandon`
     *
     * Ends an upload that has begun without a snapshot. What was registered is known to the next upload. The request and the answer are messages of the upload protocol, see `docs/PROTOCOL.md`. For the agent that created the snapshot. Every call may be repeated.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly abandon: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Store a pack. `PUT /v1/snapshots/{id}/packs/{name}`
     *
     * Stores a pack of the upload, see `docs/PROTOCOL.md`. It needs a `Content-Length`, which counts against the quota of the vault before the pack is stored. The same pack again changes nothing; another one under the same name is refused.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly putPack: BytesOperation<{
      /** The snapshot. */
      readonly id: string;
      /** The pack's id: 16 random bytes in hexadecimal. */
      readonly name: string;
      readonly body: RequestBody;
    }>;
  };
  readonly reads: {
    /**
     * Read a pack. `GET /v1/snapshots/{id}/packs/{name}`
     *
     * A pack of the snapshot's vault, or a range of it, sealed as it is stored. See `docs/PROTOCOL.md`. A pack that is gone is `not_found`: its frames were moved, ask for them again.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `range_not_satisfiable`, `snapshot_expired`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly readPack: BytesOperation<{
      /** The snapshot. */
      readonly id: string;
      /** The pack's id. */
      readonly name: string;
    }>;
    /**
     * Begin to read a snapshot. `POST /v1/snapshots/{id}/read/open`
     *
     * The root of the tree, and the keys that check content. They open nothing. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly open: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Read items. `POST /v1/snapshots/{id}/read/items`
     *
     * The recipes of segments and nodes that the snapshot reaches. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly items: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Find frames. `POST /v1/snapshots/{id}/read/frames`
     *
     * Where frames are that items of the snapshot need, with their block lists. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly frames: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Read keys of frames. `POST /v1/snapshots/{id}/read/keys`
     *
     * The keys of single frames that items of the snapshot need, and of no others. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly keys: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Find paths. `POST /v1/snapshots/{id}/read/find`
     *
     * What the other calls would tell on the way to some paths: items, places and keys of frames, and their sealed bytes, as far as the limits of one answer allow. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly find: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
  };
  readonly applications: {
    /**
     * Submit an application. `POST /applications`
     *
     * Applies for an account. The answer is the same whether or not the e-mail address is known. The decision comes by mail. At most 5 an hour from one client address.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly submit: Operation<{
      readonly body: NewApplication;
    }, ApplicationAccepted>;
    /**
     * Withdraw an application. `POST /v1/applications/withdraw`
     *
     * Uses up the link in the mail that confirmed the application. It works until the application is decided.
     *
     * @throws ProblemError with `malformed_json`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly withdraw: Operation<{
      readonly body: Withdrawal;
    }, ApplicationAccepted>;
  };
  readonly vaults: {
    /**
     * List the vaults. `GET /v1/vaults`
     *
     * Newest first. A client that is limited to vaults sees these alone.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | "name" | "-name" | undefined;
      /** Only vaults of this kind. */
      readonly kind?: "default" | "taxpayer" | "other" | undefined;
    }, VaultPage, VaultPage["data"][number]>;
    /**
     * Create a vault. `POST /v1/vaults`
     *
     * A vault has its own keys; nothing is shared between vaults. Every account has a default vault already, and every taxpayer gets one. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: NewVault;
    }, Vault>;
    /**
     * Read a vault. `GET /v1/vaults/{id}`
     *
     * With its quota and what is stored in it.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the vault. */
      readonly id: string;
    }, Vault>;
    /**
     * Change a vault. `PATCH /v1/vaults/{id}`
     *
     * Changes name and quota. A quota below what is stored deletes nothing; it refuses new uploads. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      /** Id of the vault. */
      readonly id: string;
      readonly body?: VaultChange;
    }, Vault>;
    /**
     * Delete a vault. `DELETE /v1/vaults/{id}`
     *
     * The vault, its sources and its snapshots are deleted in 72 hours. Until then everything goes on as before, every owner is mailed, and any owner cancels it (`pending_acts.cancel`). Then uploads and restores of the vault end, agents lose it, and its snapshots expire. Refused while a snapshot is held, locked or younger than the `floor_days` of its policy, now and when the time has come. The default vault cannot be deleted, and the vault of a taxpayer only with the taxpayer. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `legal_hold`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `retention_locked`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly delete: Operation<{
      /** Id of the vault. */
      readonly id: string;
    }, PendingAct>;
    /**
     * Draw a new key pair for a vault. `POST /v1/vaults/{id}/rotate-keys`
     *
     * New content is sealed to the new pair; what is stored stays readable with the pairs before it, and nothing is uploaded again. Uploads in progress end with the pair that they began with. Use it if a private key or a recovery kit may be in wrong hands. Who has the old key still opens old content: only new content is safe from them. Owners only, with a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly rotateKeys: Operation<{
      /** Id of the vault. */
      readonly id: string;
    }, Vault>;
    /**
     * Read the retention policy of a vault. `GET /v1/vaults/{id}/retention`
     *
     * Its rules keep snapshots of the sources without a policy of their own. Without rules everything stays.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly getRetention: ReadOperation<{
      /** Id of the vault. */
      readonly id: string;
    }, Retention>;
    /**
     * Change the retention policy of a vault. `PUT /v1/vaults/{id}/retention`
     *
     * Rules that are left out are none; without any rule everything stays. A change that could ever remove a snapshot earlier waits 72 hours: it is shown as `pending`, every owner is mailed, and any owner cancels it. Other changes hold at once. `If-Match` with the ETag of the policy is required. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `precondition_required`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setRetention: Operation<{
      /** Id of the vault. */
      readonly id: string;
      readonly body?: RetentionPolicyChange;
    }, Retention, CallOptions & { readonly ifMatch: string }>;
  };
  readonly sources: {
    /**
     * List the sources. `GET /v1/sources`
     *
     * Newest first. `sort=freshness` has the worst first (`never`, `late`, `ok`), then the names in the Turkish alphabet. A client that is limited to vaults sees the sources of these alone.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | "name" | "-name" | "freshness" | undefined;
      /** Only sources of this vault. */
      readonly vault_id?: string | undefined;
      /** Name, unique in its vault. It must not have the form of a UUID. */
      readonly name?: string | undefined;
      /** `never`: no snapshot was completed yet. `late`: the last one is older than `expected_every`. `ok`: neither. */
      readonly freshness?: "ok" | "late" | "never" | undefined;
    }, SourcePage, SourcePage["data"][number]>;
    /**
     * Create a source. `POST /v1/sources`
     *
     * Optional: an upload with a new name makes its source. Use it to say beforehand how often snapshots are expected. A program that creates a source is its first writer; a source that a person creates is bound to the first that uploads to it. 409 when the vault has a source with this name or alias.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, `writer_not_bound`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: NewSource;
    }, Source>;
    /**
     * Read a source. `GET /v1/sources/{id}`
     *
     * With its former names, its newest snapshot and its freshness.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the source. */
      readonly id: string;
    }, Source>;
    /**
     * Change a source. `PATCH /v1/sources/{id}`
     *
     * Changes name, kind and how often snapshots are expected. After a rename uploads with the old name still find the source. 409 when another source of the vault has the name or had it before, or when it has had too many names. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      /** Id of the source. */
      readonly id: string;
      readonly body?: SourceChange;
    }, Source>;
    /**
     * Delete a source. `DELETE /v1/sources/{id}`
     *
     * The source and its snapshots are deleted in 72 hours. Until then it is backed up as before, every owner is mailed, and any owner cancels it (`pending_acts.cancel`). Then its uploads and restores end, its name is free, and its snapshots expire. Refused while a snapshot is held, locked or younger than the `floor_days` of its policy, now and when the time has come. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `legal_hold`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `retention_locked`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly delete: Operation<{
      /** Id of the source. */
      readonly id: string;
    }, PendingAct>;
    /**
     * List the writers of a source. `GET /v1/sources/{id}/writers`
     *
     * Others get 403 `writer_not_bound`. A source without writers is bound to the next that uploads to it.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly listWriters: ReadOperation<{
      /** Id of the source. */
      readonly id: string;
    }, SourceWriterList>;
    /**
     * Bind writers to a source. `PUT /v1/sources/{id}/writers`
     *
     * The list replaces the one before: who is not in it is unbound, and its running uploads fail at their next step. With an empty list the next that uploads is bound. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setWriters: Operation<{
      /** Id of the source. */
      readonly id: string;
      readonly body: SourceWriterChange;
    }, SourceWriterList>;
    /**
     * Read the retention policy of a source. `GET /v1/sources/{id}/retention`
     *
     * The policy of the source, or of its vault where it has none (`inherited`).
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly getRetention: ReadOperation<{
      /** Id of the source. */
      readonly id: string;
    }, Retention>;
    /**
     * Change the retention policy of a source. `PUT /v1/sources/{id}/retention`
     *
     * The source gets a policy of its own in place of its vault's. Rules that are left out are none; without any rule everything stays. A change that could ever remove a snapshot earlier waits 72 hours: it is shown as `pending`, every owner is mailed, and any owner cancels it. Other changes hold at once. `If-Match` with the ETag of the policy is required. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `precondition_required`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setRetention: Operation<{
      /** Id of the source. */
      readonly id: string;
      readonly body?: RetentionPolicyChange;
    }, Retention, CallOptions & { readonly ifMatch: string }>;
  };
  readonly taxpayers: {
    /**
     * List the taxpayers. `GET /v1/taxpayers`
     *
     * Newest first. `sort=freshness` has the worst first (`never`, `late`, `ok`), then the names in the Turkish alphabet. The freshness of a taxpayer is the worst of its sources. A client that is limited to vaults sees the taxpayers of these alone.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | "name" | "-name" | "freshness" | undefined;
      /** `archived`: no longer a client; its backups stay. */
      readonly state?: "active" | "archived" | undefined;
      /** `never`: no snapshot was completed yet. `late`: the last one is older than `expected_every`. `ok`: neither. */
      readonly freshness?: "ok" | "late" | "never" | undefined;
    }, TaxpayerPage, TaxpayerPage["data"][number]>;
    /**
     * Create a taxpayer. `POST /v1/taxpayers`
     *
     * Makes the taxpayer and a vault for it. 409 when the account has a taxpayer with this tax number. A client that is limited to vaults cannot make one.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: NewTaxpayer;
    }, Taxpayer>;
    /**
     * Read a taxpayer. `GET /v1/taxpayers/{id}`
     *
     * With its vault, its newest snapshot and its freshness. The tax number is masked.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the taxpayer. */
      readonly id: string;
    }, Taxpayer>;
    /**
     * Change a taxpayer. `PATCH /v1/taxpayers/{id}`
     *
     * Changes name and state. Its vault gets the new name too, unless it was named otherwise. The tax number never changes.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      /** Id of the taxpayer. */
      readonly id: string;
      readonly body?: TaxpayerChange;
    }, Taxpayer>;
    /**
     * Delete a taxpayer. `DELETE /v1/taxpayers/{id}`
     *
     * The taxpayer, its vault and all snapshots in it are deleted in 72 hours. Until then everything goes on as before, every owner is mailed, and any owner cancels it (`pending_acts.cancel`). Then uploads and restores of the vault end, agents lose it, its snapshots expire, and the tax number is free. Refused while a snapshot is held, locked or younger than the `floor_days` of its policy, now and when the time has come. To keep the backups, set `state` to `archived` instead. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `legal_hold`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `retention_locked`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly delete: Operation<{
      /** Id of the taxpayer. */
      readonly id: string;
    }, PendingAct>;
  };
  readonly rateLimits: {
    /**
     * Read the account's limits. `GET /v1/rate-limits`
     *
     * Every limit that is counted per account, with what is left of it. This request spends nothing.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, or a code of every operation.
     */
    readonly list: ReadOperation<Record<string, never>, RateLimits>;
    /**
     * Request another limit. `POST /v1/rate-limits/requests`
     *
     * For corporate accounts. Staff decide, and the decision comes by mail. An account can have one open request per limit.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly request: Operation<{
      readonly body: NewRateLimitRequest;
    }, RateLimitRequest>;
    /**
     * List the account's requests for other limits. `GET /v1/rate-limits/requests`
     *
     * Newest first.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listRequests: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, RateLimitRequestPage, RateLimitRequestPage["data"][number]>;
  };
  readonly snapshots: {
    /**
     * List snapshots. `GET /v1/snapshots`
     *
     * The account's snapshots, newest first. Deleted ones are not listed.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only those with this status. */
      readonly status?: "queued" | "running" | "completed" | "failed" | "canceled" | "expired" | undefined;
      /** Only those of this source: its id, or its name in the vault. */
      readonly source?: string | undefined;
      /** Only those of this vault. */
      readonly vault_id?: string | undefined;
      /** Only those of this taxpayer. */
      readonly taxpayer_id?: string | undefined;
      /** Only those that this started. */
      readonly trigger?: "manual" | "api" | "schedule" | "e_archive" | undefined;
      /** Only those created at this time or later. */
      readonly created_after?: string | undefined;
      /** Only those created before this time. */
      readonly created_before?: string | undefined;
    }, SnapshotPage, SnapshotPage["data"][number]>;
    /**
     * Create a snapshot. `POST /v1/snapshots`
     *
     * **In one call**: the body is a tar archive (`application/x-tar` or no type; also with `Content-Encoding: gzip` or `zstd`), a zip archive (`application/zip`; entries stored or deflated, not encrypted), or with `path` one file of any type. What is said about the snapshot is in the query. The answer comes when every byte is stored: the snapshot is `completed`. A tar without its end mark is refused, and so is a zip with an entry whose size or CRC-32 is wrong. Whatever fails after the first byte leaves a `failed` snapshot, and the problem has its `snapshot_id`. A body without a byte leaves none. **With a JSON body** the snapshot is `queued` and its content follows in other calls; nothing is in the query then.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `content_mismatch`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `invalid_archive`, `malformed_json`, `member_required`, `missing_token`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, `writer_not_bound`, or a code of every operation.
     */
    readonly create: Operation<{
      /** What is backed up: a name in the vault, which is made if it is new, or the id of a source. */
      readonly source?: string | undefined;
      /** A name for people. */
      readonly label?: string | undefined;
      /** The vault. If absent, the account's default vault. A client that is held to other vaults: if absent, its only one; required if it has several. */
      readonly vault_id?: string | undefined;
      /** The taxpayer whose vault is meant. */
      readonly taxpayer_id?: string | undefined;
      /** What started the backup. */
      readonly trigger?: "manual" | "api" | "schedule" | "e_archive" | undefined;
      /** Your own id of this backup. */
      readonly external_reference?: string | undefined;
      /** The body is one file, whatever its type; this is its path in the snapshot. Any bytes, percent-encoded, as in the paths of files. */
      readonly path?: string | undefined;
      readonly body: NewSnapshot | RequestBody;
    }, CreatedSnapshot>;
    /**
     * Create many snapshots. `POST /v1/snapshots/batch`
     *
     * Creates up to 300 snapshots, whose content follows file by file or by the upload protocol. The call counts once in the limits of creating snapshots. Each item has its own result: the queued snapshot, or the problem that the item would have had alone. With an `Idempotency-Key` a repetition answers the same for items that were created, and tries again those whose problem may be gone: 403, 429, 503 and `quota_exceeded`.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `package_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly createBatch: Operation<{
      readonly body: NewSnapshots;
    }, BatchResults>;
    /**
     * Read a snapshot. `GET /v1/snapshots/{id}`
     *
     * What is known of a snapshot. Its files are read with the operations below it.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, Snapshot>;
    /**
     * Change a snapshot's label or metadata. `PATCH /v1/snapshots/{id}`
     *
     * Members that are left out stay as they are; `metadata` replaces all of it. A client without `snapshots:read` changes only what it created.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly update: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body?: SnapshotChange;
    }, Snapshot>;
    /**
     * Delete a snapshot. `DELETE /v1/snapshots/{id}`
     *
     * The snapshot is not found any more. Its content stays for 72 hours, in which `snapshots.undelete` brings it back, and is removed afterwards. Owners are mailed. A snapshot with a lock or a legal hold, one that is younger than the `floor_days` of its policy, and an open upload are refused.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `legal_hold`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `retention_locked`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly delete: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, void>;
    /**
     * Cancel an upload. `POST /v1/snapshots/{id}/cancel`
     *
     * Ends an upload that is queued or running. Its creator may do so, and members who are owner or manager. What arrived is not sent again by the next upload.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly cancel: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, Snapshot>;
    /**
     * Verify a snapshot. `POST /v1/snapshots/{id}/verify`
     *
     * Reads all content of a completed snapshot from the store and compares it, also what was verified before. It runs in the background: `verification` of the snapshot says how far it is, and `verified_at` changes when all is right. While one runs, another is not begun.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly verify: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, Snapshot>;
    /**
     * Bring a deleted snapshot back. `POST /v1/snapshots/{id}/undelete`
     *
     * Within 72 hours of its deletion. The snapshot is again what it was before.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly undelete: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, Snapshot>;
    /**
     * List a snapshot's warnings. `GET /v1/snapshots/{id}/warnings`
     *
     * Every file that is not in the snapshot as it should be, and why, in the order of the backup. With `name_twin` the entry is there as it should be: its name differs only in case or Unicode normal form (NFC, NFD) from an earlier one in the same directory, so Windows and macOS would take both for one. Agents do not report twins.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly listWarnings: ListOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
    }, SnapshotWarningPage, SnapshotWarningPage["data"][number]>;
    /**
     * List a directory of a snapshot. `GET /v1/snapshots/{id}/tree`
     *
     * The entries of one directory, their names in byte order. A path that is missing or a file is `not_found`.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly listTree: ListOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** The directory; the root if absent. Any bytes, percent-encoded, as in the paths of files. */
      readonly path?: string | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Number of entries per page (default 100). */
      readonly limit?: number | undefined;
    }, TreePage, TreePage["data"][number]>;
    /**
     * Compare a snapshot with another one. `GET /v1/snapshots/{id}/diff`
     *
     * Paths that were added, removed or changed since another snapshot of the same vault, in the order of a walk: a directory comes before what is in it. A file is changed if its content or its metadata is, a directory if its own metadata is. Everything below a directory that was added or removed is named too.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly diff: ListOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** The older snapshot. If absent: the completed one of the same source before this one, or nothing. */
      readonly from?: string | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Number of changes per page (default 100). */
      readonly limit?: number | undefined;
    }, SnapshotDiffPage, SnapshotDiffPage["data"][number]>;
    /**
     * Download a snapshot as an archive. `GET /v1/snapshots/{id}/archive`
     *
     * All files, or those below `path`, as an archive that is made while it is sent. Entries have their whole path in the snapshot. **tar** has every name, mode, time, owner and link as it was; without its end mark it was cut off. **zip** is for programs that read no tar, Windows among them. It is not compressed and has no hard links. Names that are not UTF-8 and those that Windows does not allow have `%` and two hexadecimal digits in their place; the comment of the archive says how many. Without its directory, which is at its end, it was cut off.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly readArchive: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** The kind of archive (`tar`). */
      readonly format?: "tar" | "zip" | undefined;
      /** Only this file or directory. Any bytes, percent-encoded, as in the paths of files. */
      readonly path?: string | undefined;
    }>;
    /**
     * Download the receipt of a snapshot. `GET /v1/snapshots/{id}/receipt`
     *
     * A compact JWS (RFC 7515, EdDSA) that says what was stored: ids, root hash, time and size, the place in the vault's chain, and the SHA-256 of each file if there are at most 100 and their bytes can be hashed at once. `verified` is true after everything was read back. It is checked without this service, with the keys at `/.well-known/emanet-keys.json`.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly readReceipt: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
    }>;
    /**
     * Download a file of a snapshot. `GET /v1/snapshots/{id}/files/{path}`
     *
     * The bytes of one file. The path is percent-encoded byte by byte, also where its name is not UTF-8. One range can be asked for, and an interrupted download continued. Every byte is compared with its hash before it is sent. For a file that its creator sends in parts, `HEAD` answers `Upload-Offset` and `Upload-Length`; `snapshots:write` is enough for that.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `range_not_satisfiable`, `snapshot_expired`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly readFile: BytesOperation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** Parts with `/` or `%2F` between them. Bytes that are no UTF-8 text are percent-encoded like any other, `%98`. */
      readonly path: string | Uint8Array;
    }>;
    /**
     * Send a file of a snapshot. `PUT /v1/snapshots/{id}/files/{path}`
     *
     * Adds a file to a snapshot that was created with a JSON body, or replaces one. The body is the file, whatever its type. When it is answered, the file is stored durably. The path is percent-encoded byte by byte, also where its name is not UTF-8. Directories follow from the paths. Without `X-Emanet-Mtime` a file keeps the time that it has in the snapshot before, if its content is the same; else it has the time of receipt. A part of a file (`Content-Range`) is refused. Only the creator of the snapshot sends files, and any number at the same time.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `content_mismatch`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly putFile: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** Parts with `/` or `%2F` between them. Bytes that are no UTF-8 text are percent-encoded like any other, `%98`. */
      readonly path: string | Uint8Array;
      readonly body: RequestBody;
    }, StoredFile>;
    /**
     * Begin a file in parts. `POST /v1/snapshots/{id}/files/{path}`
     *
     * Begins a file that is sent in parts and can be resumed, as tus 1.0 has it: this call with `Upload-Length`, then `PATCH` of the same URL from `Upload-Offset` on, and `HEAD` of it to ask for the offset. The file is in the snapshot when its last byte has come. Begun again, it starts at 0. A file that has not come to its end stops the completion of the snapshot; `PUT` of its path replaces it. This call has no body: a `Content-Digest` of the file is `content_mismatch`; send that of each part with its `PATCH`.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `content_mismatch`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly beginFile: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** Parts with `/` or `%2F` between them. Bytes that are no UTF-8 text are percent-encoded like any other, `%98`. */
      readonly path: string | Uint8Array;
    }, void>;
    /**
     * Send a part of a file. `PATCH /v1/snapshots/{id}/files/{path}`
     *
     * Appends to a file that was begun with `POST`, from `Upload-Offset` on, which must be the offset that the file has (`HEAD`); any other is `state_conflict` with the reason `wrong_offset`. A body without a type is refused. What was answered is stored durably. A request that breaks off keeps what came of it; a process that dies keeps all but the last 64 MiB of it. A part with a `Content-Digest` of it is kept as a whole or not at all: if its digest differs (`content_mismatch`), or if the request breaks off, the offset stays.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `content_mismatch`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly appendFile: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
      /** Parts with `/` or `%2F` between them. Bytes that are no UTF-8 text are percent-encoded like any other, `%98`. */
      readonly path: string | Uint8Array;
      readonly body: RequestBody;
    }, void>;
    /**
     * Complete a snapshot. `POST /v1/snapshots/{id}/complete`
     *
     * Ends the upload of a snapshot whose files were sent one by one: the snapshot has every file that was answered before, and takes no more. The answer is the completed snapshot, and the same again on repetition. What takes longer than 20 seconds is answered with 202: it goes on, and repeating the call waits for it. `Prefer: respond-async` does not wait. For the creator of the snapshot. A file that has not come to its end in parts is `state_conflict`, with the reason `unfinished_file`.
     *
     * @throws ProblemError with `account_suspended`, `agent_required`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly complete: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, Snapshot>;
    /**
     * Read a hold. `GET /v1/snapshots/{id}/hold`
     *
     * 404 where the snapshot is not held.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly getHold: ReadOperation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, Hold>;
    /**
     * Hold a snapshot. `PUT /v1/snapshots/{id}/hold`
     *
     * Nobody removes the snapshot while it is held, by no rule and by no deletion, owners and staff included. A release that waits is canceled. Only owners, with a fresh second factor.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setHold: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: NewHold;
    }, Hold>;
    /**
     * Release a hold. `DELETE /v1/snapshots/{id}/hold`
     *
     * The hold ends in 72 hours. Every owner is mailed, and any owner cancels it until then. Only owners, with a fresh second factor.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `snapshot_expired`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly releaseHold: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, PendingAct>;
    /**
     * Lock a snapshot. `PUT /v1/snapshots/{id}/lock`
     *
     * Nobody removes the snapshot before the lock ends, owners and staff included, and nobody shortens the lock. It can be extended; at most 11 years from now. Only owners, with a fresh second factor.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `retention_locked`, `snapshot_expired`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly lock: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body: NewLock;
    }, Snapshot>;
    /**
     * Accept a suspicious snapshot. `POST /v1/snapshots/{id}/accept`
     *
     * From then on the snapshot counts like any other, and snapshots of its source expire again. As this can remove snapshots, it waits 72 hours: every owner is mailed, and any owner cancels it. To reject the snapshot, delete it. Needs a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly accept: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
    }, PendingAct>;
    /**
     * Make a download link. `POST /v1/snapshots/{id}/download-link`
     *
     * A link for browsers, which cannot send a token with a download. It can be used once, within five minutes; `HEAD` does not use it. The answer to the first `GET` sets a cookie for the link alone, with which the same browser can continue an interrupted download for a day. The link reads with the rights of the one who made it, and ends with them. A `path` of a file without `format` is the file itself; anything else is an archive (`tar` unless `format` says another).
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `snapshot_expired`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly createDownloadLink: Operation<{
      /** Id of the snapshot. */
      readonly id: string;
      readonly body?: NewDownloadLink;
    }, DownloadLink>;
  };
  readonly restores: {
    /**
     * List restores. `GET /v1/restore`
     *
     * The account's restores, newest first.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only those with this status. */
      readonly status?: "pending" | "running" | "completed" | "failed" | "canceled" | undefined;
      /** Only those of this snapshot. */
      readonly snapshot_id?: string | undefined;
    }, RestorePage, RestorePage["data"][number]>;
    /**
     * Start a restore. `POST /v1/restore`
     *
     * Brings a snapshot or some of its files back. With the target `download` everything is read and compared with its hash first; then the archive can be downloaded for seven days, by any ranges and any number of times. With the target `agent` the agent reads the files and writes them onto its machine, only below the roots that the machine permits; an agent that is absent for 24 hours fails it. That needs the scope `restores:agent`, and of people a fresh second factor. Follow a restore with `GET /v1/restore/{id}` or the events `restore.completed` and `restore.failed`. At most 10 an hour. A suspended account can restore.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `snapshot_expired`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: NewRestore;
    }, Restore>;
    /**
     * Read a restore. `GET /v1/restore/{id}`
     *
     * How far it is, and afterwards what it has. `warnings` names what could not be read.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the restore. */
      readonly id: string;
    }, RestoreWithPaths>;
    /**
     * List a restore's warnings. `GET /v1/restore/{id}/warnings`
     *
     * Every file whose content cannot be read (`content_damaged`), and every directory some of whose entries cannot be (`entries_unreadable`), in the order of the archive.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly listWarnings: ListOperation<{
      /** Id of the restore. */
      readonly id: string;
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
    }, RestoreWarningPage, RestoreWarningPage["data"][number]>;
    /**
     * Download a restore. `GET /v1/restore/{id}/download`
     *
     * The archive of a completed restore. One range can be asked for, and an interrupted download continued: the bytes never change until the restore expires, after seven days. Every byte is compared with its hash before it is sent.
     *
     * @throws ProblemError with `download_expired`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `range_not_satisfiable`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly download: BytesOperation<{
      /** Id of the restore. */
      readonly id: string;
    }>;
    /**
     * Cancel a restore. `POST /v1/restore/{id}/cancel`
     *
     * Ends a restore that is pending or running. `restore.failed` says so with the failure `canceled`.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly cancel: Operation<{
      /** Id of the restore. */
      readonly id: string;
    }, Restore>;
    /**
     * Make a download link of a restore. `POST /v1/restore/{id}/download-link`
     *
     * A link for browsers, which cannot send a token with a download. It can be used once, within five minutes; `HEAD` does not use it. The answer to the first `GET` sets a cookie for the link alone, with which the same browser can continue an interrupted download for a day. The link reads with the rights of the one who made it, and ends with them.
     *
     * @throws ProblemError with `download_expired`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly createDownloadLink: Operation<{
      /** Id of the restore. */
      readonly id: string;
    }, DownloadLink>;
  };
  readonly retention: {
    /**
     * Try a retention policy. `POST /v1/retention/simulate`
     *
     * What the policy would remove now, what would stay and why. Nothing is changed. Without `policy` the present one is used; for a vault a given one stands for all its sources. `freed_bytes` is what the removal frees, exactly while no upload runs; on one day at most a tenth of a vault's snapshots goes, the oldest first.
     *
     * @throws ProblemError with `account_suspended`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly simulate: Operation<{
      readonly body?: RetentionSimulation;
    }, RetentionSimulated>;
  };
  readonly pendingActs: {
    /**
     * List acts that wait. `GET /v1/pending-acts`
     *
     * Changes of policies, releases of holds, acceptances and deletions that could remove a snapshot earlier. Each waits 72 hours, in which any owner cancels it.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only those in this state. */
      readonly state?: "waiting" | "done" | "canceled" | "refused" | undefined;
    }, PendingActs, PendingActs["data"][number]>;
    /**
     * Cancel an act that waits. `POST /v1/pending-acts/{id}/cancel`
     *
     * Nothing of it happens. Any owner can do this, also if another member started it. As canceling removes nothing, it needs no fresh second factor.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly cancel: Operation<{
      /** Id of the act. */
      readonly id: string;
    }, PendingAct>;
  };
  readonly orders: {
    /**
     * Read an agent's orders, or wait for one. `GET /v1/agents/{id}/orders`
     *
     * For the agent itself; everybody else gets 404. The orders that it can take, the oldest first: those that wait, and those of another run of it that has not reported for two minutes. With `wait` the answer comes as soon as there is one, or empty after so many seconds. The call also says that the agent lives.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ReadOperation<{
      /** Id of the agent. */
      readonly id: string;
      /** Seconds to wait for an order when there is none (0). */
      readonly wait?: number | undefined;
      /** The run: chosen at random by each process of the agent when it starts. */
      readonly run_id?: string | undefined;
    }, Orders>;
    /**
     * Take an order. `POST /v1/orders/{id}/start`
     *
     * For the agent that the order is for; everybody else gets 404. From now on the run may read what the order names. The same run may repeat it. 409: the order has ended, or another run of the agent works on it and reported within the last two minutes.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly start: Operation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: OrderStart;
    }, Order>;
    /**
     * Report progress. `POST /v1/orders/{id}/report`
     *
     * For the run that works on the order, at least once a minute. 409: the order was canceled, has ended, or another run has it. Then the run stops; what it has written stays.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly report: Operation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: OrderReport;
    }, Order>;
    /**
     * End an order. `POST /v1/orders/{id}/finish`
     *
     * For the run that works on the order. `completed`: every file was written, or is named in the warnings; with `on_damage: "fail"` no content was damaged. The same call may be repeated. 409: the order has ended otherwise, or another run has it.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly finish: Operation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: OrderEnd;
    }, Order>;
    /**
     * Begin to read a snapshot. `POST /v1/orders/{id}/read/open`
     *
     * The root of the tree, and the keys that check content. They open nothing. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated. For the agent that works on the order, and only for items that the order's paths need. 409: the order has ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly readOpen: BytesOperation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Read items. `POST /v1/orders/{id}/read/items`
     *
     * The recipes of segments and nodes that the snapshot reaches. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated. For the agent that works on the order, and only for items that the order's paths need. 409: the order has ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly readItems: BytesOperation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Find frames. `POST /v1/orders/{id}/read/frames`
     *
     * Where frames are that items of the snapshot need, with their block lists. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated. For the agent that works on the order, and only for items that the order's paths need. 409: the order has ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly readFrames: BytesOperation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Read keys of frames. `POST /v1/orders/{id}/read/keys`
     *
     * The keys of single frames that items of the snapshot need, and of no others. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated. For the agent that works on the order, and only for items that the order's paths need. 409: the order has ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly readKeys: BytesOperation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Find paths. `POST /v1/orders/{id}/read/find`
     *
     * What the other calls would tell on the way to some paths: items, places and keys of frames, and their sealed bytes, as far as the limits of one answer allow. The request and the answer are messages of the read protocol, see `docs/PROTOCOL.md`. Every call may be repeated. For the agent that works on the order, and only for items that the order's paths need. 409: the order has ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly readFind: BytesOperation<{
      /** Id of the order; it is also the id of the restore. */
      readonly id: string;
      readonly body: RequestBody;
    }>;
    /**
     * Read a pack for an order. `GET /v1/orders/{id}/packs/{name}`
     *
     * As `GET /v1/snapshots/{id}/packs/{name}`, for the agent that works on the order. 409: the order has ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `range_not_satisfiable`, `state_conflict`, `validation_failed`, or a code of every operation.
     */
    readonly readPack: BytesOperation<{
      /** The order. */
      readonly id: string;
      /** The pack's id. */
      readonly name: string;
    }>;
  };
  readonly downloads: {
    /**
     * Download by a link. `GET /v1/downloads/{link}`
     *
     * The content of a download link. The first `GET` uses the link; requests with the cookie that it sets continue the download for a day, a single file or a restore also by ranges. `HEAD` uses nothing. A link that was used or has expired, or whose maker has lost the right, is `download_expired`.
     *
     * @throws ProblemError with `download_expired`, `not_found`, `range_not_satisfiable`, `snapshot_expired`, `validation_failed`, or a code of every operation.
     */
    readonly read: BytesOperation<{
      /** The secret of the link. */
      readonly link: string;
    }>;
  };
  readonly receipts: {
    /**
     * Keys of receipts. `GET /.well-known/emanet-keys.json`
     *
     * The public keys that sign receipts (RFC 7517, RFC 8037), the newest first. Keys stay for ever. Each but the first is introduced by the one before it.
     */
    readonly keys: ReadOperation<Record<string, never>, ReceiptKeys>;
  };
  readonly webhooks: {
    /**
     * List webhooks. `GET /v1/webhooks`
     *
     * The account's webhooks, newest first. A client that is held to vaults sees those that send events of these vaults alone.
     *
     * @throws ProblemError with `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, WebhookPage, WebhookPage["data"][number]>;
    /**
     * Create a webhook. `POST /v1/webhooks`
     *
     * Events of these types are sent to the address from now on. The secret is shown only in this answer. An account has at most ten webhooks; one more is 409 `quota_exceeded`. A client that is held to vaults gets events of these vaults alone. The webhook is disabled when the member or client that made it loses the right to make one.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `package_required`, `quota_exceeded`, `storage_full`, `unsupported_media_type`, `validation_failed`, `webhook_url_blocked`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: NewWebhook;
    }, WebhookCreated>;
    /**
     * Read a webhook. `GET /v1/webhooks/{id}`
     *
     * Its address, its types of events and its state. The secret is never shown again.
     *
     * @throws ProblemError with `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the webhook. */
      readonly id: string;
    }, Webhook>;
    /**
     * Change a webhook. `PATCH /v1/webhooks/{id}`
     *
     * Members that are left out stay as they are. A new address holds for every later attempt, also of events before. New types hold for later events.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `storage_full`, `unsupported_media_type`, `validation_failed`, `webhook_url_blocked`, or a code of every operation.
     */
    readonly update: Operation<{
      /** Id of the webhook. */
      readonly id: string;
      readonly body?: WebhookChange;
    }, Webhook>;
    /**
     * Delete a webhook. `DELETE /v1/webhooks/{id}`
     *
     * Nothing more is sent, and its deliveries are gone. Events stay readable at `/v1/events`.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly delete: Operation<{
      /** Id of the webhook. */
      readonly id: string;
    }, void>;
    /**
     * Enable a webhook. `POST /v1/webhooks/{id}/enable`
     *
     * Events are sent again, in your name from now on, and deliveries that waited go on. Events of the time when it was disabled are sent by `replay`, failed deliveries by `retry-failed`.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly enable: Operation<{
      /** Id of the webhook. */
      readonly id: string;
    }, Webhook>;
    /**
     * Disable a webhook. `POST /v1/webhooks/{id}/disable`
     *
     * Nothing is sent until it is enabled. Events are kept for 30 days and can be replayed.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly disable: Operation<{
      /** Id of the webhook. */
      readonly id: string;
    }, Webhook>;
    /**
     * Send a test event. `POST /v1/webhooks/{id}/test`
     *
     * Sends `webhook.test` to this webhook, signed and repeated like any event. `GET /v1/webhooks/{id}/deliveries?event_id=` shows what became of it. A disabled webhook is 409.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly test: Operation<{
      /** Id of the webhook. */
      readonly id: string;
    }, WebhookTestSent>;
    /**
     * Replace a webhook's secret. `POST /v1/webhooks/{id}/secret/rotate`
     *
     * Creates a new secret, which is shown only in this answer. For `grace_s` (default one day) deliveries are signed with the old secret too, so that receivers can change at any moment; 0 ends it at once. `If-Match` with the webhook's ETag is required.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `precondition_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly rotateSecret: Operation<{
      /** Id of the webhook. */
      readonly id: string;
      readonly body?: WebhookSecretRotation;
    }, WebhookSecretRotated, CallOptions & { readonly ifMatch: string }>;
    /**
     * Find out why a signature does not fit. `POST /v1/webhooks/{id}/verify-debug`
     *
     * Send what your receiver got: the header, the body as it came, byte for byte, and optionally the secret that it uses and what its clock said. The answer names the first difference: `wrong_secret`, `old_secret` (replaced, and no longer valid), `changed_body` (parsed and written again, or another encoding), `wrong_event_id`, `clock_ahead` and `clock_behind` (more than 300 s), `malformed_header`, or `does_not_fit` when it is no delivery of this webhook. It never answers a digest.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly verifyDebug: Operation<{
      /** Id of the webhook. */
      readonly id: string;
      readonly body: SignatureQuestion;
    }, SignatureFinding>;
    /**
     * Read how well a webhook does. `GET /v1/webhooks/{id}/statistics`
     *
     * The share of attempts that succeeded and their median time over 24 hours, attempts per hour over 48 hours, what waits, and when the webhook is disabled if everything goes on failing.
     *
     * @throws ProblemError with `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly getStatistics: ReadOperation<{
      /** Id of the webhook. */
      readonly id: string;
    }, WebhookStatistics>;
    /**
     * List deliveries of a webhook. `GET /v1/webhooks/{id}/deliveries`
     *
     * One row per event and webhook, newest first, with the last attempt. They are kept as long as events, 30 days.
     *
     * @throws ProblemError with `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly listDeliveries: ListOperation<{
      /** Id of the webhook. */
      readonly id: string;
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only these; `undelivered` stands for `retrying` and `failed`. */
      readonly status?: "pending" | "retrying" | "delivered" | "failed" | "undelivered" | undefined;
      /** Only events of this type. */
      readonly event?: "account.suspended" | "vault.quota_warning" | "source.overdue" | "agent.registered" | "snapshot.started" | "snapshot.completed" | "snapshot.failed" | "restore.started" | "restore.completed" | "restore.failed" | "audit.share_created" | "audit.share_revoked" | "source.suspicious" | "deletion.scheduled" | "deletion.canceled" | "deletion.completed" | "billing.charged" | "subscription.renewed" | "subscription.failed" | "byos.token_expired" | "mukellef.transferred" | "webhook.test" | undefined;
      /** Only of this event. */
      readonly event_id?: string | undefined;
    }, WebhookDeliveryPage, WebhookDeliveryPage["data"][number]>;
    /**
     * Send all failed deliveries again now. `POST /v1/webhooks/{id}/retry-failed`
     *
     * One attempt now for every delivery that is `retrying` or `failed`, beside their schedules. For a disabled webhook it is 409.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly retryFailed: Operation<{
      /** Id of the webhook. */
      readonly id: string;
    }, WebhookQueued>;
    /**
     * Send events of a time again. `POST /v1/webhooks/{id}/replay`
     *
     * Sends the events from `from` (inclusive) to `to` (exclusive; now when absent) that the webhook is subscribed to, in their order, also those of a time when it was disabled. `webhook-id` and body are the same as before. More than 100000 events, with those that still wait for their first attempt, are 409 `quota_exceeded`. For a disabled webhook it is 409.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `not_found`, `package_required`, `quota_exceeded`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly replay: Operation<{
      /** Id of the webhook. */
      readonly id: string;
      readonly body: WebhookReplay;
    }, WebhookQueued>;
  };
  readonly webhookDeliveries: {
    /**
     * Read a delivery. `GET /v1/webhook-deliveries/{id}`
     *
     * With its attempts and the body, which is the same in all of them. What receivers answered is not kept.
     *
     * @throws ProblemError with `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the delivery. */
      readonly id: string;
    }, WebhookDeliveryDetail>;
    /**
     * Send a delivery again now. `POST /v1/webhook-deliveries/{id}/retry`
     *
     * One attempt now, beside the schedule: it uses no step of it, and if it fails, the schedule goes on as before. A delivery that arrived can be sent again too. For a disabled webhook it is 409.
     *
     * @throws ProblemError with `account_suspended`, `feature_not_enabled`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly retry: Operation<{
      /** Id of the delivery. */
      readonly id: string;
    }, WebhookDelivery>;
  };
  readonly events: {
    /**
     * Read events, or wait for the next one. `GET /v1/events`
     *
     * The events after `after`, oldest first. With `wait` the answer comes as soon as there is one, or empty after so many seconds. Ask again with `last_sequence` of the answer: what a lost answer had comes again. Events are kept for 30 days; asking for older ones is 410 `events_expired`. Without `after` the oldest kept one is the first. A number above the newest is answered at once with the newest one, for who wants what comes from now on. Numbers can be missing for clients that are held to vaults.
     *
     * @throws ProblemError with `events_expired`, `feature_not_enabled`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ReadOperation<{
      /** The last number that you have; 0 before the first. */
      readonly after?: number | undefined;
      /** Seconds to wait for an event when there is none (0). */
      readonly wait?: number | undefined;
      /** Most events (100). */
      readonly limit?: number | undefined;
    }, Events>;
  };
  readonly eventTypes: {
    /**
     * List the types of events. `GET /v1/event-types`
     *
     * Everything that a webhook can subscribe to. The `webhooks` section of this document has their fields.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `package_required`, or a code of every operation.
     */
    readonly list: ReadOperation<Record<string, never>, EventTypes>;
  };
  readonly files: {
    /**
     * Search names of files. `GET /v1/search`
     *
     * Files, directories and links over all snapshots whose name has every word of the query, each with its newest version. Case, accents and the dots of Turkish letters make no difference. A word of one or two letters is the beginning of a name; `mart/fat` finds names that begin with `fat` in folders whose paths end with `mart`. By vault, the paths that came last first. A page can have fewer items than `limit` and still be followed by another.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly search: ListOperation<{
      /** Parts of a name. */
      readonly query: string;
      /** Only in this vault. */
      readonly vault_id?: string | undefined;
      /** Only in the vault of this taxpayer. */
      readonly taxpayer_id?: string | undefined;
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
    }, FoundFilePage, FoundFilePage["data"][number]>;
    /**
     * List the versions of a file. `GET /v1/files/history`
     *
     * What was at a path of a source, the newest first. Snapshots between the last snapshot of a version and the first of the next one have nothing there. A path that no snapshot has is an empty list.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly listHistory: ListOperation<{
      /** The source: its id, or its name in the vault. */
      readonly source: string;
      /** The vault of the source, where its name is given; the default vault if absent. */
      readonly vault_id?: string | undefined;
      /** The path. Any bytes, percent-encoded, as in the paths of files. */
      readonly path: string;
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
    }, FileVersionPage, FileVersionPage["data"][number]>;
  };
  readonly audit: {
    /**
     * List audit records. `GET /v1/audit/events`
     *
     * What was done in the account, by whom, to what; newest first. Each record has the hash of the one before it.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly listEvents: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-occurred_at`). */
      readonly sort?: "-occurred_at" | "occurred_at" | undefined;
      /** Only records of this time or later. */
      readonly from?: string | undefined;
      /** Only records before this time. */
      readonly to?: string | undefined;
      /** Only this action, or with `.*` at its end all of one kind. */
      readonly action?: string | undefined;
      /** Only what actors of this kind did. */
      readonly actor_kind?: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | undefined;
      /** Only what was done to objects of this kind. */
      readonly target_type?: string | undefined;
      /** Only with this result. */
      readonly outcome?: "success" | "failure" | undefined;
      /** Only what this member, client, agent or staff did. */
      readonly actor_id?: string | undefined;
      /** Only what was done to this object. */
      readonly target_id?: string | undefined;
    }, AuditPage, AuditPage["data"][number]>;
    /**
     * Read the state of the audit chain. `GET /v1/audit/chain`
     *
     * The number of records, the hash of the last one, and the last signed checkpoint. `docs/AUDIT.md` has how it is checked.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `package_required`, or a code of every operation.
     */
    readonly getChain: ReadOperation<Record<string, never>, AuditChain>;
    /**
     * Export the audit trail. `GET /v1/audit/export`
     *
     * All records of a time, in the order of the chain and without gaps, as NDJSON, CSV, CEF or JSON. The first line has the signed checkpoint before them, the last line the one after them and a signed statement about the whole file. `/docs/verify-audit.mjs` checks it without the service. Five a day; a broken download is resumed by its `X-Export-Id` without spending another.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly export: BytesOperation<{
      /** Only records of this time or later. */
      readonly from?: string | undefined;
      /** Only records before this time. */
      readonly to?: string | undefined;
      /** The format (`ndjson`). */
      readonly format?: "ndjson" | "csv" | "cef" | "json" | undefined;
    }>;
    /**
     * Resume an export. `GET /v1/audit/export/{id}`
     *
     * The bytes of an export of the last 24 hours, or with `Range` a part of them. Spends no export. The ETag changes when a name in it changes.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `range_not_satisfiable`, `validation_failed`, or a code of every operation.
     */
    readonly resumeExport: BytesOperation<{
      /** `X-Export-Id` of the export. */
      readonly id: string;
    }>;
  };
  readonly auditShares: {
    /**
     * Share the audit trail. `POST /v1/audit/shares`
     *
     * Lets somebody outside the account read the records that the filter chooses, for at most 90 days, at `/v1/audit/shared/events` and `/v1/audit/shared/export` with the token as bearer token. The token is shown only in this answer. People and paths are masked unless you say otherwise. Every read is a record of your audit trail. At most 50 shares can be read at a time; one more is 409 `quota_exceeded`.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `malformed_json`, `member_required`, `missing_token`, `package_required`, `quota_exceeded`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly create: Operation<{
      readonly body: AuditShareRequest;
    }, NewAuditShare>;
    /**
     * List audit shares. `GET /v1/audit/shares`
     *
     * The shares of the account, newest first, with those that were revoked or have expired. Tokens are not shown.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, AuditSharePage, AuditSharePage["data"][number]>;
    /**
     * Read an audit share. `GET /v1/audit/shares/{id}`
     *
     * The share without its token. What was read with it is in the audit trail: `/v1/audit/events?actor_id=…`.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly get: ReadOperation<{
      /** Id of the share. */
      readonly id: string;
    }, AuditShare>;
    /**
     * Revoke an audit share. `DELETE /v1/audit/shares/{id}`
     *
     * The share cannot be read any more; a download that is running is cut within ten seconds. It stays in the list. This also works while the account is suspended, and again for a share that has ended.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `precondition_failed`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly revoke: Operation<{
      /** Id of the share. */
      readonly id: string;
    }, void>;
  };
  readonly auditShared: {
    /**
     * List shared audit records. `GET /v1/audit/shared/events`
     *
     * For an auditor with a share: its records, newest first. Parameters choose among them and never add to them. `masked` says that parts of a record are not shown. Each page that is read is a record of the account's audit trail.
     *
     * @throws ProblemError with `invalid_cursor`, `missing_token`, `share_revoked`, `validation_failed`, or a code of every operation.
     */
    readonly listEvents: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-occurred_at`). */
      readonly sort?: "-occurred_at" | "occurred_at" | undefined;
      /** Only records of this time or later. */
      readonly from?: string | undefined;
      /** Only records before this time. */
      readonly to?: string | undefined;
      /** Only this action, or with `.*` at its end all of one kind. */
      readonly action?: string | undefined;
      /** Only what actors of this kind did. */
      readonly actor_kind?: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | undefined;
      /** Only what was done to objects of this kind. */
      readonly target_type?: string | undefined;
      /** Only with this result. */
      readonly outcome?: "success" | "failure" | undefined;
    }, SharedAuditPage, SharedAuditPage["data"][number]>;
    /**
     * Export shared audit records. `GET /v1/audit/shared/export`
     *
     * For an auditor with a share: its records as NDJSON, CSV, CEF or JSON, in the order of the chain. `/docs/verify-audit.mjs` checks the file without the service. Five a day for each share. It cannot be resumed. The export is a record of the account's audit trail.
     *
     * @throws ProblemError with `missing_token`, `share_revoked`, `validation_failed`, or a code of every operation.
     */
    readonly export: BytesOperation<{
      /** Only records of this time or later. */
      readonly from?: string | undefined;
      /** Only records before this time. */
      readonly to?: string | undefined;
      /** Only this action, or with `.*` at its end all of one kind. */
      readonly action?: string | undefined;
      /** Only what actors of this kind did. */
      readonly actor_kind?: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | undefined;
      /** Only what was done to objects of this kind. */
      readonly target_type?: string | undefined;
      /** Only with this result. */
      readonly outcome?: "success" | "failure" | undefined;
      /** The format (`ndjson`). */
      readonly format?: "ndjson" | "csv" | "cef" | "json" | undefined;
    }>;
  };
  readonly nights: {
    /**
     * List nights. `GET /v1/nights`
     *
     * How backups went, by day in Istanbul: a row per active taxpayer, and per source in other vaults, by name in the Turkish alphabet. A snapshot belongs to the day on which it was created. At most 92 days; the last 30 if none are given. `ETag` makes a repetition cheap.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** The first day. */
      readonly from?: string | undefined;
      /** The last day; today if absent. */
      readonly to?: string | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Number of rows per page (default 500). */
      readonly limit?: number | undefined;
    }, NightsPage, NightsPage["data"][number]>;
  };
  readonly usage: {
    /**
     * List what is stored. `GET /v1/usage`
     *
     * For each vault, by name in the Turkish alphabet: what is stored now and by day in Istanbul, beside the bytes of the files. At most 92 days; the last 30 if none are given.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** The first day. */
      readonly from?: string | undefined;
      /** The last day; today if absent. */
      readonly to?: string | undefined;
      /** Only this vault. */
      readonly vault_id?: string | undefined;
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
    }, UsagePage, UsagePage["data"][number]>;
    /**
     * Get what is stored in all vaults. `GET /v1/usage/total`
     *
     * The sums over all vaults: now, and by day in Istanbul. At most 366 days; the last 30 if none are given.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly total: ReadOperation<{
      /** The first day. */
      readonly from?: string | undefined;
      /** The last day; today if absent. */
      readonly to?: string | undefined;
    }, UsageTotal>;
  };
  readonly erasures: {
    /**
     * List erased vaults. `GET /v1/erasures`
     *
     * Vaults whose keys, content and names were destroyed, at the end of a deletion or of the 90 days of a closed account, each with a signed proof. Owners of a closed account can read them for 30 days after its last vault was erased; each is mailed to them too. Owners only.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, Erasures, Erasures["data"][number]>;
  };
  readonly recoveryKits: {
    /**
     * List recovery kits. `GET /v1/recovery-kits`
     *
     * Every kit that was ordered, with who fetched it and when. A kit that was fetched opens its vault for ever: draw a new key pair (`vaults.rotate_keys`) if it may be in wrong hands. Owners only.
     *
     * @throws ProblemError with `insufficient_role`, `insufficient_scope`, `invalid_cursor`, `member_required`, `missing_token`, `package_required`, `validation_failed`, or a code of every operation.
     */
    readonly list: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, RecoveryKits, RecoveryKits["data"][number]>;
    /**
     * Order a recovery kit. `POST /v1/vaults/{id}/recovery-kits`
     *
     * A recovery kit has the decryption keys of a vault. With it and a copy of the bucket everything in the vault is restored without this service. It can be fetched in 24 hours, for seven days (`recovery_kits.download`). Every owner is mailed now, and any owner cancels it. An order that is open already is answered as it is. Owners only, with a fresh second factor.
     *
     * @throws ProblemError with `account_suspended`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly create: Operation<{
      /** Id of the vault. */
      readonly id: string;
    }, RecoveryKit>;
    /**
     * Cancel the order of a recovery kit. `POST /v1/recovery-kits/{id}/cancel`
     *
     * It cannot be fetched any more. Any owner can do this, without a fresh second factor.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly cancel: Operation<{
      /** Id of the order. */
      readonly id: string;
    }, RecoveryKit>;
    /**
     * Fetch a recovery kit. `POST /v1/recovery-kits/{id}/download`
     *
     * The decryption keys of all key pairs of the vault, sealed, and the key that opens the seal. Keep the answer offline, as a file. `engine restore latest --repo COPY --kit FILE --target DIR` restores from a copy of the bucket (docs/RECOVERY-KIT.md). It has no signing key: who has it reads and cannot change anything. Content that is sealed to a key pair of later is not opened by it. 24 hours after the order, once. Owners only, with a fresh second factor; every owner is mailed.
     *
     * @throws ProblemError with `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_role`, `insufficient_scope`, `member_required`, `missing_token`, `not_found`, `package_required`, `state_conflict`, `step_up_required`, `storage_full`, `validation_failed`, or a code of every operation.
     */
    readonly download: Operation<{
      /** Id of the order. */
      readonly id: string;
    }, RecoveryKitFile>;
  };
  readonly oauth: {
    /**
     * Obtain an access token. `POST /oauth2/token`
     *
     * OAuth 2.0 (RFC 6749, 7636, 8628). Clients authenticate with HTTP Basic, in the form, or with a signed assertion (`private_key_jwt`). There is no `password` grant. Each use of a refresh token returns the next one. For 30 seconds the previous token gets the same successor (two uses at once, a lost answer). An older token ends the grant and all its tokens. 60 requests a minute per account; failed requests count per client address.
     */
    readonly token: Operation<{
      readonly body: TokenRequest;
    }, TokenAnswer>;
    /**
     * Revoke a token. `POST /oauth2/revoke`
     *
     * RFC 7009. Ends the grant of the token. All its access and refresh tokens stop working within a second, on every server. The answer is the same for an unknown token.
     */
    readonly revoke: Operation<{
      readonly body: TokenReference;
    }, void>;
    /**
     * Introspect a token. `POST /oauth2/introspect`
     *
     * RFC 7662. Only for authenticated clients, for their own tokens and those of their account. Any other token is `active: false`.
     */
    readonly introspect: Operation<{
      readonly body: TokenReference;
    }, Introspection>;
    /**
     * Start the device flow. `POST /oauth2/device_authorization`
     *
     * RFC 8628, for agents and other programs without a browser. The person types the user code at `verification_uri`, signs in and decides. The program polls the token endpoint with the device code. Codes are valid for ten minutes. A program that polls more often than every `interval` seconds gets `slow_down` and must add five seconds.
     */
    readonly authorizeDevice: Operation<{
      readonly body?: DeviceRequest;
    }, DeviceAnswer>;
    /**
     * Public keys. `GET /oauth2/jwks`
     *
     * The keys that sign access tokens (RFC 7517). A new key is published before its first use and stays until all tokens that it signed have expired.
     */
    readonly keys: ReadOperation<Record<string, never>, PublicKeys>;
    /**
     * Metadata of the authorization server. `GET /oauth2/.well-known/oauth-authorization-server`
     *
     * RFC 8414. This path is below the issuer; many clients expect it here.
     */
    readonly metadata: ReadOperation<Record<string, never>, AuthorizationServerMetadata>;
    /**
     * Metadata of the authorization server. `GET /.well-known/oauth-authorization-server/oauth2`
     *
     * The same document at the path that RFC 8414 defines for an issuer with a path.
     */
    readonly metadataByRfc: ReadOperation<Record<string, never>, AuthorizationServerMetadata>;
    /**
     * Metadata of the authorization server. `GET /oauth2/.well-known/openid-configuration`
     *
     * The same document for clients that read only this path (RFC 8414, section 5). There are no ID tokens.
     */
    readonly metadataOpenid: ReadOperation<Record<string, never>, AuthorizationServerMetadata>;
  };
  readonly sandbox: {
    /**
     * Move the clock. `POST /v1/sandbox/clock`
     *
     * Profile `sandbox` only. Moves the application's clock forwards for every process on the database; jobs that become due run. 0 shows the time.
     *
     * @throws ProblemError with `admin_required`, `malformed_json`, `missing_token`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly moveClock: Operation<{
      readonly body: ClockMove;
    }, ClockTime>;
  };
  readonly health: {
    /**
     * Is the process running?. `GET /health/live`
     *
     * Answers as long as the process runs, also when the database is not available.
     */
    readonly live: ReadOperation<Record<string, never>, Health>;
    /**
     * Can requests be served?. `GET /health/ready`
     *
     * Checks the database. 503 `unavailable` while the database does not answer.
     */
    readonly ready: ReadOperation<Record<string, never>, Health>;
  };
  readonly docs: {
    /**
     * OpenAPI document as JSON. `GET /docs/json`
     *
     * The machine-readable description of this API, OpenAPI 3.1.
     */
    readonly json: ReadOperation<Record<string, never>, unknown>;
    /**
     * OpenAPI document as YAML. `GET /docs/yaml`
     *
     * The same object as `/docs/json`.
     */
    readonly yaml: BytesOperation<Record<string, never>>;
  };
  readonly admin: {
    /**
     * List the accounts. `GET /v1/admin/accounts`
     *
     * Newest first.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listAccounts: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only items in this state. */
      readonly state?: "active" | "suspended" | "closed" | undefined;
    }, AdminAccountPage, AdminAccountPage["data"][number]>;
    /**
     * Read an account. `GET /v1/admin/accounts/{id}`
     *
     * One customer's account.
     *
     * @throws ProblemError with `admin_required`, `missing_token`, `not_found`, `validation_failed`, or a code of every operation.
     */
    readonly getAccount: ReadOperation<{
      /** Id. */
      readonly id: string;
    }, Account>;
    /**
     * Suspend an account. `POST /v1/admin/accounts/{id}/suspend`
     *
     * Its members can sign in, read and restore, but not write. Emits `account.suspended`.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly suspendAccount: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The cause that is sent to the customer's systems. */
  readonly cause: "unpaid" | "abuse" | "security" | "request" | "other";
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, Account>;
    /**
     * Resume an account. `POST /v1/admin/accounts/{id}/resume`
     *
     * Ends a suspension.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly resumeAccount: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, Account>;
    /**
     * Set an account's package. `POST /v1/admin/accounts/{id}/package`
     *
     * Applies from the account's next request on.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setPackage: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The package. */
  readonly package: "starter" | "professional" | "accountant" | "corporate";
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, Account>;
    /**
     * Switch an entitlement on or off. `POST /v1/admin/accounts/{id}/entitlements`
     *
     * Overrides the package for one account; null uses the package again.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setEntitlement: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** Which. */
  readonly entitlement: "api";
  readonly enabled: boolean | null;
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, Account>;
    /**
     * Switch early access on or off. `POST /v1/admin/accounts/{id}/early-access`
     *
     * With early access, planned limits are counted but never refuse, and webhooks are off.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setEarlyAccess: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** On or off. */
  readonly early_access: boolean;
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, Account>;
    /**
     * List the members of all accounts. `GET /v1/admin/members`
     *
     * Newest first.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listMembers: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, AdminMemberPage, AdminMemberPage["data"][number]>;
    /**
     * Reset a member's second factor. `POST /v1/admin/members/{id}/reset-second-factor`
     *
     * Mails every owner of the account. Takes effect after 24 hours, or as soon as an owner confirms it. The password does not change.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `insufficient_scope`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `step_up_required`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly resetSecondFactor: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, SecondFactorReset>;
    /**
     * List the applications. `GET /v1/admin/applications`
     *
     * Newest first.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listApplications: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only items in this state. */
      readonly status?: "submitted" | "under_review" | "approved" | "rejected" | "withdrawn" | undefined;
    }, AdminApplicationPage, AdminApplicationPage["data"][number]>;
    /**
     * Read an application. `GET /v1/admin/applications/{id}`
     *
     * One application.
     *
     * @throws ProblemError with `admin_required`, `missing_token`, `not_found`, `validation_failed`, or a code of every operation.
     */
    readonly getApplication: ReadOperation<{
      /** Id. */
      readonly id: string;
    }, AdminApplication>;
    /**
     * Take an application into review. `POST /v1/admin/applications/{id}/review`
     *
     * Marks the application as being reviewed.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly reviewApplication: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, AdminApplication>;
    /**
     * Approve an application. `POST /v1/admin/applications/{id}/approve`
     *
     * Creates the account and its owner and mails the owner an enrolment link. 409 when the e-mail address already signs in here. Invitations of other accounts do not matter.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly approveApplication: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, ApplicationApproved>;
    /**
     * Reject an application. `POST /v1/admin/applications/{id}/reject`
     *
     * The applicant gets a mail with exactly this reason.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly rejectApplication: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, AdminApplication>;
    /**
     * List the bans. `GET /v1/admin/bans`
     *
     * Newest first.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listBans: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only bans that are active now. */
      readonly state?: "active" | undefined;
    }, AdminBanPage, AdminBanPage["data"][number]>;
    /**
     * Ban a client, a session or an address. `POST /v1/admin/bans`
     *
     * The ban of an address applies to requests without a credential and lasts at most a day. A configured proxy cannot be banned.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setBan: Operation<{
      readonly body: NewBan;
    }, Ban>;
    /**
     * Lift a ban. `POST /v1/admin/bans/{id}/lift`
     *
     * Applies from the next request on; for an address it reaches other processes within about a second.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly liftBan: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, Ban>;
    /**
     * List the accounts nearest to their limits. `GET /v1/admin/rate-limits`
     *
     * Accounts with recent requests, the most used first.
     *
     * @throws ProblemError with `admin_required`, `missing_token`, or a code of every operation.
     */
    readonly listRateLimits: ReadOperation<Record<string, never>, AdminRateLimits>;
    /**
     * Set a limit for one account. `POST /v1/admin/accounts/{id}/limits`
     *
     * Any limit that is counted per account. It applies from the account's next request on.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setAccountLimit: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: AccountLimit;
    }, AccountLimitSet>;
    /**
     * Reset a limit of one account. `POST /v1/admin/accounts/{id}/limits/reset`
     *
     * The account uses the limit of its package or the default limit again.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly resetAccountLimit: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: AccountLimitReset;
    }, void>;
    /**
     * List the requests for other limits. `GET /v1/admin/rate-limit-requests`
     *
     * Newest first.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listLimitRequests: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only items in this state. */
      readonly state?: "pending" | "approved" | "rejected" | undefined;
    }, AdminLimitRequestPage, AdminLimitRequestPage["data"][number]>;
    /**
     * Approve a request for another limit. `POST /v1/admin/rate-limit-requests/{id}/approve`
     *
     * The account's owners get a mail. An approved rate applies from the account's next request on.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly approveLimitRequest: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, RateLimitRequest>;
    /**
     * Reject a request for another limit. `POST /v1/admin/rate-limit-requests/{id}/reject`
     *
     * The account's owners get a mail. An approved rate applies from the account's next request on.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `state_conflict`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly rejectLimitRequest: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: {
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
};
    }, RateLimitRequest>;
    /**
     * List the webhooks of all accounts. `GET /v1/admin/webhooks`
     *
     * Newest first. Paths and queries of addresses, and descriptions, are not shown.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listWebhooks: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only webhooks of this account. */
      readonly account_id?: string | undefined;
    }, AdminWebhookPage, AdminWebhookPage["data"][number]>;
    /**
     * List the webhook deliveries of all accounts. `GET /v1/admin/webhook-deliveries`
     *
     * Newest first, with the last attempt of each. Bodies are not shown.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listWebhookDeliveries: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only of this account. */
      readonly account_id?: string | undefined;
      /** Only of this webhook. */
      readonly webhook_id?: string | undefined;
      /** Only with this status. */
      readonly status?: "pending" | "retrying" | "delivered" | "failed" | undefined;
    }, AdminWebhookDeliveryPage, AdminWebhookDeliveryPage["data"][number]>;
    /**
     * Read the audit trail. `GET /v1/admin/audit`
     *
     * The records of all accounts and of the platform, newest first.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listAudit: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-occurred_at`). */
      readonly sort?: "-occurred_at" | "occurred_at" | undefined;
      /** Only records of this time or later. */
      readonly from?: string | undefined;
      /** Only records before this time. */
      readonly to?: string | undefined;
      /** Only records of this action. */
      readonly action?: string | undefined;
      /** Only what actors of this kind did. */
      readonly actor_kind?: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | undefined;
      /** Only what was done to objects of this kind. */
      readonly target_type?: string | undefined;
      /** Only with this result. */
      readonly outcome?: "success" | "failure" | undefined;
      /** Only what this member, client, agent or staff did. */
      readonly actor_id?: string | undefined;
      /** Only what was done to this object. */
      readonly target_id?: string | undefined;
      /** Only records of this account. */
      readonly account_id?: string | undefined;
      /** The id of an account, or `platform`. */
      readonly chain?: string | undefined;
    }, AdminAuditPage, AdminAuditPage["data"][number]>;
    /**
     * Export an audit chain. `GET /v1/admin/audit/export`
     *
     * As `/v1/audit/export`, of the platform's chain or of an account. The export is recorded in that chain, where the customer sees it.
     *
     * @throws ProblemError with `admin_required`, `missing_token`, `not_found`, `validation_failed`, or a code of every operation.
     */
    readonly exportAudit: BytesOperation<{
      /** Only records of this time or later. */
      readonly from?: string | undefined;
      /** Only records before this time. */
      readonly to?: string | undefined;
      /** The id of an account, or `platform`. */
      readonly chain?: string | undefined;
      /** The format (`ndjson`). */
      readonly format?: "ndjson" | "csv" | "cef" | "json" | undefined;
    }>;
    /**
     * Resume an export of an audit chain. `GET /v1/admin/audit/export/{id}`
     *
     * The bytes of an export of staff of the last 24 hours, or with `Range` a part of them.
     *
     * @throws ProblemError with `admin_required`, `missing_token`, `not_found`, `range_not_satisfiable`, `validation_failed`, or a code of every operation.
     */
    readonly resumeAuditExport: BytesOperation<{
      /** Id. */
      readonly id: string;
    }>;
    /**
     * Read the state of an audit chain. `GET /v1/admin/audit/chains/{chain}`
     *
     * The number of records, the last checkpoint, and what the last self-check found.
     *
     * @throws ProblemError with `admin_required`, `missing_token`, `not_found`, `validation_failed`, or a code of every operation.
     */
    readonly getAuditChain: ReadOperation<{
      /** The id of an account, or `platform`. */
      readonly chain: string;
    }, AdminAuditChain>;
    /**
     * Pause or resume the upkeep of a vault. `POST /v1/admin/vaults/{id}/upkeep`
     *
     * While it is paused nothing expires, nothing is removed, moved or scrubbed in the vault. Backups and restores go on. A run that has begun ends first. The customer sees it in the vault and in the audit trail.
     *
     * @throws ProblemError with `admin_required`, `idempotency_in_progress`, `idempotency_key_reused`, `malformed_json`, `missing_token`, `not_found`, `storage_full`, `unsupported_media_type`, `validation_failed`, or a code of every operation.
     */
    readonly setUpkeep: Operation<{
      /** Id. */
      readonly id: string;
      readonly body: UpkeepChange;
    }, UpkeepPaused>;
    /**
     * List erased vaults. `GET /v1/admin/erasures`
     *
     * Erasures of all accounts, with their proofs.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listErasures: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
    }, AdminErasures, AdminErasures["data"][number]>;
    /**
     * Read the overview. `GET /v1/admin/overview`
     *
     * Accounts and applications by state.
     *
     * @throws ProblemError with `admin_required`, `missing_token`, or a code of every operation.
     */
    readonly overview: ReadOperation<Record<string, never>, AdminOverview>;
    /**
     * List the jobs. `GET /v1/admin/jobs`
     *
     * Jobs that are waiting or running, and jobs that failed in the last 90 days, newest first. Payloads are not shown, because they can contain personal data. Finished jobs are deleted.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listJobs: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | undefined;
      /** The kind of work. */
      readonly kind?: string | undefined;
      /** Only items in this state. */
      readonly state?: "scheduled" | "queued" | "running" | "failed" | undefined;
    }, AdminJobPage, AdminJobPage["data"][number]>;
    /**
     * List the snapshots of all accounts. `GET /v1/admin/snapshots`
     *
     * Newest first, without deleted ones. Names of files and sources, labels and metadata are not shown. With `failure=verification_failed`: the snapshots whose stored content is not what their writer said.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listSnapshots: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only snapshots of this account. */
      readonly account_id?: string | undefined;
      /** Only snapshots in this state. */
      readonly status?: "queued" | "running" | "completed" | "failed" | "canceled" | "expired" | undefined;
      /** Only snapshots with this failure. */
      readonly failure?: "upload_abandoned" | "upload_interrupted" | "quota_exceeded" | "storage_full" | "invalid_archive" | "content_mismatch" | "verification_failed" | "canceled" | "internal" | undefined;
      /** Only snapshots of this client, agent or member. */
      readonly writer_id?: string | undefined;
    }, AdminSnapshotPage, AdminSnapshotPage["data"][number]>;
    /**
     * List the restores of all accounts. `GET /v1/admin/restores`
     *
     * Newest first. Paths are not shown.
     *
     * @throws ProblemError with `admin_required`, `invalid_cursor`, `missing_token`, `validation_failed`, or a code of every operation.
     */
    readonly listRestores: ListOperation<{
      /** Number of items per page (default 25). */
      readonly limit?: number | undefined;
      /** `next_cursor` of the previous page, unchanged. */
      readonly cursor?: string | undefined;
      /** Order, `-` for the greatest first (`-created_at`). */
      readonly sort?: "-created_at" | "created_at" | undefined;
      /** Only restores of this account. */
      readonly account_id?: string | undefined;
      /** Only restores in this state. */
      readonly status?: "pending" | "running" | "completed" | "failed" | "canceled" | undefined;
      /** Only restores with this failure. */
      readonly failure?: "content_damaged" | "snapshot_deleted" | "canceled" | "agent_absent" | "agent_revoked" | "target_refused" | "target_full" | "write_failed" | "internal" | undefined;
    }, AdminRestorePage, AdminRestorePage["data"][number]>;
  };
}

/** By group and name. */
export const operations = {
  "account.get": {"method":"GET","path":"/v1/account","reply":"json"},
  "account.update": {"method":"PATCH","path":"/v1/account","body":"json","reply":"json"},
  "oauthClients.list": {"method":"GET","path":"/v1/oauth-clients","query":["limit","cursor","sort"],"reply":"json"},
  "oauthClients.create": {"method":"POST","path":"/v1/oauth-clients","body":"json","keyed":true,"reply":"json"},
  "oauthClients.get": {"method":"GET","path":"/v1/oauth-clients/{id}","reply":"json"},
  "oauthClients.update": {"method":"PATCH","path":"/v1/oauth-clients/{id}","body":"json","reply":"json"},
  "oauthClients.delete": {"method":"DELETE","path":"/v1/oauth-clients/{id}","reply":"empty"},
  "oauthClients.rotateSecret": {"method":"POST","path":"/v1/oauth-clients/{id}/rotate-secret","body":"json","keyed":true,"reply":"json"},
  "oauthClients.review": {"method":"POST","path":"/v1/oauth-clients/{id}/review","keyed":true,"reply":"json"},
  "members.list": {"method":"GET","path":"/v1/members","query":["limit","cursor","sort"],"reply":"json"},
  "members.invite": {"method":"POST","path":"/v1/members","body":"json","keyed":true,"reply":"json"},
  "members.get": {"method":"GET","path":"/v1/members/{id}","reply":"json"},
  "members.update": {"method":"PATCH","path":"/v1/members/{id}","body":"json","reply":"json"},
  "members.remove": {"method":"DELETE","path":"/v1/members/{id}","reply":"empty"},
  "members.resendInvitation": {"method":"POST","path":"/v1/members/{id}/resend-invitation","keyed":true,"reply":"json"},
  "me.get": {"method":"GET","path":"/v1/me","reply":"json"},
  "me.update": {"method":"PATCH","path":"/v1/me","body":"json","reply":"json"},
  "me.changePassword": {"method":"POST","path":"/v1/me/password","body":"json","reply":"empty"},
  "me.beginTotp": {"method":"POST","path":"/v1/me/totp","reply":"json"},
  "me.confirmTotp": {"method":"POST","path":"/v1/me/totp/confirm","body":"json","reply":"json"},
  "me.renewRecoveryCodes": {"method":"POST","path":"/v1/me/recovery-codes","reply":"json"},
  "me.requestPhoneCode": {"method":"POST","path":"/v1/me/phone","body":"json","reply":"json"},
  "me.confirmPhone": {"method":"POST","path":"/v1/me/phone/confirm","body":"json","reply":"empty"},
  "enrolment.begin": {"method":"POST","path":"/v1/enrolment","body":"json","reply":"json","anonymous":true},
  "enrolment.requestCode": {"method":"POST","path":"/v1/enrolment/phone","body":"json","reply":"json","anonymous":true},
  "enrolment.complete": {"method":"POST","path":"/v1/enrolment/complete","body":"json","reply":"json","anonymous":true},
  "oauthGrants.list": {"method":"GET","path":"/v1/oauth-grants","query":["limit","cursor","sort"],"reply":"json"},
  "oauthGrants.get": {"method":"GET","path":"/v1/oauth-grants/{id}","reply":"json"},
  "oauthGrants.end": {"method":"DELETE","path":"/v1/oauth-grants/{id}","reply":"empty"},
  "oauthGrants.review": {"method":"POST","path":"/v1/oauth-grants/{id}/review","keyed":true,"reply":"json"},
  "auth.login": {"method":"POST","path":"/v1/auth/login","body":"json","reply":"json","anonymous":true},
  "auth.refresh": {"method":"POST","path":"/v1/auth/refresh","reply":"json","anonymous":true},
  "auth.logout": {"method":"POST","path":"/v1/auth/logout","reply":"empty","anonymous":true},
  "auth.requestSmsCode": {"method":"POST","path":"/auth/sms-otp/request","body":"json","reply":"json","anonymous":true},
  "auth.stepUp": {"method":"POST","path":"/v1/auth/step-up","body":"json","reply":"json"},
  "sessions.list": {"method":"GET","path":"/v1/sessions","query":["limit","cursor","sort"],"reply":"json"},
  "sessions.get": {"method":"GET","path":"/v1/sessions/{id}","reply":"json"},
  "sessions.end": {"method":"DELETE","path":"/v1/sessions/{id}","reply":"empty"},
  "members.decideSecondFactorReset": {"method":"POST","path":"/v1/members/{id}/second-factor-reset","body":"json","keyed":true,"reply":"empty"},
  "auth.requestPasswordReset": {"method":"POST","path":"/v1/auth/password-reset/request","body":"json","reply":"json","anonymous":true},
  "auth.resetPassword": {"method":"POST","path":"/v1/auth/password-reset","body":"json","reply":"empty","anonymous":true},
  "agents.list": {"method":"GET","path":"/v1/agents","query":["limit","cursor","sort"],"reply":"json"},
  "agents.create": {"method":"POST","path":"/v1/agents","body":"json","keyed":true,"reply":"json"},
  "agents.get": {"method":"GET","path":"/v1/agents/{id}","reply":"json"},
  "agents.update": {"method":"PATCH","path":"/v1/agents/{id}","body":"json","reply":"json"},
  "agents.delete": {"method":"DELETE","path":"/v1/agents/{id}","reply":"empty"},
  "agents.replace": {"method":"POST","path":"/v1/agents/{id}/replace","body":"json","keyed":true,"reply":"json"},
  "agents.getKeys": {"method":"GET","path":"/v1/agents/{id}/keys","reply":"json"},
  "uploads.begin": {"method":"POST","path":"/v1/snapshots/{id}/upload/begin","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.ordinals": {"method":"POST","path":"/v1/snapshots/{id}/upload/ordinals","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.offer": {"method":"POST","path":"/v1/snapshots/{id}/upload/offer","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.nodes": {"method":"POST","path":"/v1/snapshots/{id}/upload/nodes","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.register": {"method":"POST","path":"/v1/snapshots/{id}/upload/register","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.renew": {"method":"POST","path":"/v1/snapshots/{id}/upload/renew","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.complete": {"method":"POST","path":"/v1/snapshots/{id}/upload/complete","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.abandon": {"method":"POST","path":"/v1/snapshots/{id}/upload/abandon","body":"content","mediaType":"application/vnd.emanet.upload","reply":"bytes"},
  "uploads.putPack": {"method":"PUT","path":"/v1/snapshots/{id}/packs/{name}","body":"content","mediaType":"application/octet-stream","reply":"bytes"},
  "reads.readPack": {"method":"GET","path":"/v1/snapshots/{id}/packs/{name}","reply":"bytes"},
  "applications.submit": {"method":"POST","path":"/applications","body":"json","keyed":true,"reply":"json","anonymous":true},
  "applications.withdraw": {"method":"POST","path":"/v1/applications/withdraw","body":"json","reply":"json","anonymous":true},
  "vaults.list": {"method":"GET","path":"/v1/vaults","query":["limit","cursor","sort","kind"],"reply":"json"},
  "vaults.create": {"method":"POST","path":"/v1/vaults","body":"json","keyed":true,"reply":"json"},
  "vaults.get": {"method":"GET","path":"/v1/vaults/{id}","reply":"json"},
  "vaults.update": {"method":"PATCH","path":"/v1/vaults/{id}","body":"json","reply":"json"},
  "vaults.delete": {"method":"DELETE","path":"/v1/vaults/{id}","reply":"json"},
  "vaults.rotateKeys": {"method":"POST","path":"/v1/vaults/{id}/rotate-keys","keyed":true,"reply":"json"},
  "sources.list": {"method":"GET","path":"/v1/sources","query":["limit","cursor","sort","vault_id","name","freshness"],"reply":"json"},
  "sources.create": {"method":"POST","path":"/v1/sources","body":"json","keyed":true,"reply":"json"},
  "sources.get": {"method":"GET","path":"/v1/sources/{id}","reply":"json"},
  "sources.update": {"method":"PATCH","path":"/v1/sources/{id}","body":"json","reply":"json"},
  "sources.delete": {"method":"DELETE","path":"/v1/sources/{id}","reply":"json"},
  "sources.listWriters": {"method":"GET","path":"/v1/sources/{id}/writers","reply":"json"},
  "sources.setWriters": {"method":"PUT","path":"/v1/sources/{id}/writers","body":"json","reply":"json"},
  "taxpayers.list": {"method":"GET","path":"/v1/taxpayers","query":["limit","cursor","sort","state","freshness"],"reply":"json"},
  "taxpayers.create": {"method":"POST","path":"/v1/taxpayers","body":"json","keyed":true,"reply":"json"},
  "taxpayers.get": {"method":"GET","path":"/v1/taxpayers/{id}","reply":"json"},
  "taxpayers.update": {"method":"PATCH","path":"/v1/taxpayers/{id}","body":"json","reply":"json"},
  "taxpayers.delete": {"method":"DELETE","path":"/v1/taxpayers/{id}","reply":"json"},
  "rateLimits.list": {"method":"GET","path":"/v1/rate-limits","reply":"json"},
  "rateLimits.request": {"method":"POST","path":"/v1/rate-limits/requests","body":"json","keyed":true,"reply":"json"},
  "rateLimits.listRequests": {"method":"GET","path":"/v1/rate-limits/requests","query":["limit","cursor","sort"],"reply":"json"},
  "snapshots.list": {"method":"GET","path":"/v1/snapshots","query":["limit","cursor","sort","status","source","vault_id","taxpayer_id","trigger","created_after","created_before"],"reply":"json"},
  "snapshots.create": {"method":"POST","path":"/v1/snapshots","query":["source","label","vault_id","taxpayer_id","trigger","external_reference","path"],"body":"either","mediaType":"application/x-tar","keyed":true,"reply":"json"},
  "snapshots.createBatch": {"method":"POST","path":"/v1/snapshots/batch","body":"json","keyed":true,"reply":"json"},
  "snapshots.get": {"method":"GET","path":"/v1/snapshots/{id}","reply":"json"},
  "snapshots.update": {"method":"PATCH","path":"/v1/snapshots/{id}","body":"json","reply":"json"},
  "snapshots.delete": {"method":"DELETE","path":"/v1/snapshots/{id}","reply":"empty"},
  "snapshots.cancel": {"method":"POST","path":"/v1/snapshots/{id}/cancel","keyed":true,"reply":"json"},
  "snapshots.verify": {"method":"POST","path":"/v1/snapshots/{id}/verify","keyed":true,"reply":"json"},
  "snapshots.undelete": {"method":"POST","path":"/v1/snapshots/{id}/undelete","keyed":true,"reply":"json"},
  "snapshots.listWarnings": {"method":"GET","path":"/v1/snapshots/{id}/warnings","query":["limit","cursor"],"reply":"json"},
  "snapshots.listTree": {"method":"GET","path":"/v1/snapshots/{id}/tree","query":["path","cursor","limit"],"reply":"json"},
  "snapshots.diff": {"method":"GET","path":"/v1/snapshots/{id}/diff","query":["from","cursor","limit"],"reply":"json"},
  "snapshots.readArchive": {"method":"GET","path":"/v1/snapshots/{id}/archive","query":["format","path"],"reply":"bytes"},
  "snapshots.readReceipt": {"method":"GET","path":"/v1/snapshots/{id}/receipt","reply":"bytes"},
  "snapshots.readFile": {"method":"GET","path":"/v1/snapshots/{id}/files/{path}","rest":true,"reply":"bytes"},
  "snapshots.putFile": {"method":"PUT","path":"/v1/snapshots/{id}/files/{path}","rest":true,"body":"content","mediaType":"application/octet-stream","reply":"json"},
  "snapshots.beginFile": {"method":"POST","path":"/v1/snapshots/{id}/files/{path}","rest":true,"reply":"empty"},
  "snapshots.appendFile": {"method":"PATCH","path":"/v1/snapshots/{id}/files/{path}","rest":true,"body":"content","mediaType":"application/offset+octet-stream","reply":"empty"},
  "snapshots.complete": {"method":"POST","path":"/v1/snapshots/{id}/complete","reply":"json"},
  "restores.list": {"method":"GET","path":"/v1/restore","query":["limit","cursor","sort","status","snapshot_id"],"reply":"json"},
  "restores.create": {"method":"POST","path":"/v1/restore","body":"json","keyed":true,"reply":"json"},
  "restores.get": {"method":"GET","path":"/v1/restore/{id}","reply":"json"},
  "restores.listWarnings": {"method":"GET","path":"/v1/restore/{id}/warnings","query":["limit","cursor"],"reply":"json"},
  "restores.download": {"method":"GET","path":"/v1/restore/{id}/download","reply":"bytes"},
  "restores.cancel": {"method":"POST","path":"/v1/restore/{id}/cancel","keyed":true,"reply":"json"},
  "vaults.getRetention": {"method":"GET","path":"/v1/vaults/{id}/retention","reply":"json"},
  "vaults.setRetention": {"method":"PUT","path":"/v1/vaults/{id}/retention","body":"json","reply":"json"},
  "sources.getRetention": {"method":"GET","path":"/v1/sources/{id}/retention","reply":"json"},
  "sources.setRetention": {"method":"PUT","path":"/v1/sources/{id}/retention","body":"json","reply":"json"},
  "retention.simulate": {"method":"POST","path":"/v1/retention/simulate","body":"json","reply":"json"},
  "snapshots.getHold": {"method":"GET","path":"/v1/snapshots/{id}/hold","reply":"json"},
  "snapshots.setHold": {"method":"PUT","path":"/v1/snapshots/{id}/hold","body":"json","reply":"json"},
  "snapshots.releaseHold": {"method":"DELETE","path":"/v1/snapshots/{id}/hold","reply":"json"},
  "snapshots.lock": {"method":"PUT","path":"/v1/snapshots/{id}/lock","body":"json","reply":"json"},
  "snapshots.accept": {"method":"POST","path":"/v1/snapshots/{id}/accept","keyed":true,"reply":"json"},
  "account.close": {"method":"POST","path":"/v1/account/close","keyed":true,"reply":"json"},
  "pendingActs.list": {"method":"GET","path":"/v1/pending-acts","query":["limit","cursor","sort","state"],"reply":"json"},
  "pendingActs.cancel": {"method":"POST","path":"/v1/pending-acts/{id}/cancel","keyed":true,"reply":"json"},
  "reads.open": {"method":"POST","path":"/v1/snapshots/{id}/read/open","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "reads.items": {"method":"POST","path":"/v1/snapshots/{id}/read/items","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "reads.frames": {"method":"POST","path":"/v1/snapshots/{id}/read/frames","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "reads.keys": {"method":"POST","path":"/v1/snapshots/{id}/read/keys","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "reads.find": {"method":"POST","path":"/v1/snapshots/{id}/read/find","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "orders.list": {"method":"GET","path":"/v1/agents/{id}/orders","query":["wait","run_id"],"reply":"json"},
  "orders.start": {"method":"POST","path":"/v1/orders/{id}/start","body":"json","keyed":true,"reply":"json"},
  "orders.report": {"method":"POST","path":"/v1/orders/{id}/report","body":"json","reply":"json"},
  "orders.finish": {"method":"POST","path":"/v1/orders/{id}/finish","body":"json","reply":"json"},
  "orders.readOpen": {"method":"POST","path":"/v1/orders/{id}/read/open","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "orders.readItems": {"method":"POST","path":"/v1/orders/{id}/read/items","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "orders.readFrames": {"method":"POST","path":"/v1/orders/{id}/read/frames","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "orders.readKeys": {"method":"POST","path":"/v1/orders/{id}/read/keys","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "orders.readFind": {"method":"POST","path":"/v1/orders/{id}/read/find","body":"content","mediaType":"application/vnd.emanet.read","reply":"bytes"},
  "orders.readPack": {"method":"GET","path":"/v1/orders/{id}/packs/{name}","reply":"bytes"},
  "snapshots.createDownloadLink": {"method":"POST","path":"/v1/snapshots/{id}/download-link","body":"json","keyed":true,"reply":"json"},
  "restores.createDownloadLink": {"method":"POST","path":"/v1/restore/{id}/download-link","keyed":true,"reply":"json"},
  "downloads.read": {"method":"GET","path":"/v1/downloads/{link}","reply":"bytes","anonymous":true},
  "receipts.keys": {"method":"GET","path":"/.well-known/emanet-keys.json","reply":"json","anonymous":true},
  "webhooks.list": {"method":"GET","path":"/v1/webhooks","query":["limit","cursor","sort"],"reply":"json"},
  "webhooks.create": {"method":"POST","path":"/v1/webhooks","body":"json","keyed":true,"reply":"json"},
  "webhooks.get": {"method":"GET","path":"/v1/webhooks/{id}","reply":"json"},
  "webhooks.update": {"method":"PATCH","path":"/v1/webhooks/{id}","body":"json","reply":"json"},
  "webhooks.delete": {"method":"DELETE","path":"/v1/webhooks/{id}","reply":"empty"},
  "webhooks.enable": {"method":"POST","path":"/v1/webhooks/{id}/enable","keyed":true,"reply":"json"},
  "webhooks.disable": {"method":"POST","path":"/v1/webhooks/{id}/disable","keyed":true,"reply":"json"},
  "webhooks.test": {"method":"POST","path":"/v1/webhooks/{id}/test","keyed":true,"reply":"json"},
  "webhooks.rotateSecret": {"method":"POST","path":"/v1/webhooks/{id}/secret/rotate","body":"json","keyed":true,"reply":"json"},
  "webhooks.verifyDebug": {"method":"POST","path":"/v1/webhooks/{id}/verify-debug","body":"json","reply":"json"},
  "webhooks.getStatistics": {"method":"GET","path":"/v1/webhooks/{id}/statistics","reply":"json"},
  "webhooks.listDeliveries": {"method":"GET","path":"/v1/webhooks/{id}/deliveries","query":["limit","cursor","sort","status","event","event_id"],"reply":"json"},
  "webhooks.retryFailed": {"method":"POST","path":"/v1/webhooks/{id}/retry-failed","keyed":true,"reply":"json"},
  "webhooks.replay": {"method":"POST","path":"/v1/webhooks/{id}/replay","body":"json","keyed":true,"reply":"json"},
  "webhookDeliveries.get": {"method":"GET","path":"/v1/webhook-deliveries/{id}","reply":"json"},
  "webhookDeliveries.retry": {"method":"POST","path":"/v1/webhook-deliveries/{id}/retry","keyed":true,"reply":"json"},
  "events.list": {"method":"GET","path":"/v1/events","query":["after","wait","limit"],"reply":"json"},
  "eventTypes.list": {"method":"GET","path":"/v1/event-types","reply":"json"},
  "files.search": {"method":"GET","path":"/v1/search","query":["query","vault_id","taxpayer_id","limit","cursor"],"reply":"json"},
  "files.listHistory": {"method":"GET","path":"/v1/files/history","query":["source","vault_id","path","limit","cursor"],"reply":"json"},
  "audit.listEvents": {"method":"GET","path":"/v1/audit/events","query":["limit","cursor","sort","from","to","action","actor_kind","target_type","outcome","actor_id","target_id"],"reply":"json"},
  "audit.getChain": {"method":"GET","path":"/v1/audit/chain","reply":"json"},
  "audit.export": {"method":"GET","path":"/v1/audit/export","query":["from","to","format"],"reply":"bytes"},
  "audit.resumeExport": {"method":"GET","path":"/v1/audit/export/{id}","reply":"bytes"},
  "auditShares.create": {"method":"POST","path":"/v1/audit/shares","body":"json","keyed":true,"reply":"json"},
  "auditShares.list": {"method":"GET","path":"/v1/audit/shares","query":["limit","cursor","sort"],"reply":"json"},
  "auditShares.get": {"method":"GET","path":"/v1/audit/shares/{id}","reply":"json"},
  "auditShares.revoke": {"method":"DELETE","path":"/v1/audit/shares/{id}","reply":"empty"},
  "auditShared.listEvents": {"method":"GET","path":"/v1/audit/shared/events","query":["limit","cursor","sort","from","to","action","actor_kind","target_type","outcome"],"reply":"json"},
  "auditShared.export": {"method":"GET","path":"/v1/audit/shared/export","query":["from","to","action","actor_kind","target_type","outcome","format"],"reply":"bytes"},
  "members.erase": {"method":"POST","path":"/v1/members/{id}/erase","keyed":true,"reply":"empty"},
  "nights.list": {"method":"GET","path":"/v1/nights","query":["from","to","cursor","limit"],"reply":"json"},
  "usage.list": {"method":"GET","path":"/v1/usage","query":["from","to","vault_id","limit","cursor"],"reply":"json"},
  "usage.total": {"method":"GET","path":"/v1/usage/total","query":["from","to"],"reply":"json"},
  "account.export": {"method":"GET","path":"/v1/account/export","reply":"bytes"},
  "erasures.list": {"method":"GET","path":"/v1/erasures","query":["limit","cursor","sort"],"reply":"json"},
  "recoveryKits.list": {"method":"GET","path":"/v1/recovery-kits","query":["limit","cursor","sort"],"reply":"json"},
  "recoveryKits.create": {"method":"POST","path":"/v1/vaults/{id}/recovery-kits","keyed":true,"reply":"json"},
  "recoveryKits.cancel": {"method":"POST","path":"/v1/recovery-kits/{id}/cancel","keyed":true,"reply":"json"},
  "recoveryKits.download": {"method":"POST","path":"/v1/recovery-kits/{id}/download","keyed":true,"reply":"json"},
  "oauth.token": {"method":"POST","path":"/oauth2/token","body":"form","reply":"json","anonymous":true},
  "oauth.revoke": {"method":"POST","path":"/oauth2/revoke","body":"form","reply":"empty","anonymous":true},
  "oauth.introspect": {"method":"POST","path":"/oauth2/introspect","body":"form","reply":"json","anonymous":true},
  "oauth.authorizeDevice": {"method":"POST","path":"/oauth2/device_authorization","body":"form","reply":"json","anonymous":true},
  "oauth.keys": {"method":"GET","path":"/oauth2/jwks","reply":"json","anonymous":true},
  "oauth.metadata": {"method":"GET","path":"/oauth2/.well-known/oauth-authorization-server","reply":"json","anonymous":true},
  "oauth.metadataByRfc": {"method":"GET","path":"/.well-known/oauth-authorization-server/oauth2","reply":"json","anonymous":true},
  "oauth.metadataOpenid": {"method":"GET","path":"/oauth2/.well-known/openid-configuration","reply":"json","anonymous":true},
  "sandbox.moveClock": {"method":"POST","path":"/v1/sandbox/clock","body":"json","reply":"json"},
  "health.live": {"method":"GET","path":"/health/live","reply":"json","anonymous":true},
  "health.ready": {"method":"GET","path":"/health/ready","reply":"json","anonymous":true},
  "docs.json": {"method":"GET","path":"/docs/json","reply":"json","anonymous":true},
  "docs.yaml": {"method":"GET","path":"/docs/yaml","reply":"bytes","anonymous":true},
  "admin.listAccounts": {"method":"GET","path":"/v1/admin/accounts","query":["limit","cursor","sort","state"],"reply":"json"},
  "admin.getAccount": {"method":"GET","path":"/v1/admin/accounts/{id}","reply":"json"},
  "admin.suspendAccount": {"method":"POST","path":"/v1/admin/accounts/{id}/suspend","body":"json","keyed":true,"reply":"json"},
  "admin.resumeAccount": {"method":"POST","path":"/v1/admin/accounts/{id}/resume","body":"json","keyed":true,"reply":"json"},
  "admin.setPackage": {"method":"POST","path":"/v1/admin/accounts/{id}/package","body":"json","keyed":true,"reply":"json"},
  "admin.setEntitlement": {"method":"POST","path":"/v1/admin/accounts/{id}/entitlements","body":"json","keyed":true,"reply":"json"},
  "admin.setEarlyAccess": {"method":"POST","path":"/v1/admin/accounts/{id}/early-access","body":"json","keyed":true,"reply":"json"},
  "admin.listMembers": {"method":"GET","path":"/v1/admin/members","query":["limit","cursor","sort"],"reply":"json"},
  "admin.resetSecondFactor": {"method":"POST","path":"/v1/admin/members/{id}/reset-second-factor","body":"json","keyed":true,"reply":"json"},
  "admin.listApplications": {"method":"GET","path":"/v1/admin/applications","query":["limit","cursor","sort","status"],"reply":"json"},
  "admin.getApplication": {"method":"GET","path":"/v1/admin/applications/{id}","reply":"json"},
  "admin.reviewApplication": {"method":"POST","path":"/v1/admin/applications/{id}/review","body":"json","keyed":true,"reply":"json"},
  "admin.approveApplication": {"method":"POST","path":"/v1/admin/applications/{id}/approve","body":"json","keyed":true,"reply":"json"},
  "admin.rejectApplication": {"method":"POST","path":"/v1/admin/applications/{id}/reject","body":"json","keyed":true,"reply":"json"},
  "admin.listBans": {"method":"GET","path":"/v1/admin/bans","query":["limit","cursor","sort","state"],"reply":"json"},
  "admin.setBan": {"method":"POST","path":"/v1/admin/bans","body":"json","keyed":true,"reply":"json"},
  "admin.liftBan": {"method":"POST","path":"/v1/admin/bans/{id}/lift","body":"json","keyed":true,"reply":"json"},
  "admin.listRateLimits": {"method":"GET","path":"/v1/admin/rate-limits","reply":"json"},
  "admin.setAccountLimit": {"method":"POST","path":"/v1/admin/accounts/{id}/limits","body":"json","keyed":true,"reply":"json"},
  "admin.resetAccountLimit": {"method":"POST","path":"/v1/admin/accounts/{id}/limits/reset","body":"json","keyed":true,"reply":"empty"},
  "admin.listLimitRequests": {"method":"GET","path":"/v1/admin/rate-limit-requests","query":["limit","cursor","sort","state"],"reply":"json"},
  "admin.approveLimitRequest": {"method":"POST","path":"/v1/admin/rate-limit-requests/{id}/approve","body":"json","keyed":true,"reply":"json"},
  "admin.rejectLimitRequest": {"method":"POST","path":"/v1/admin/rate-limit-requests/{id}/reject","body":"json","keyed":true,"reply":"json"},
  "admin.listWebhooks": {"method":"GET","path":"/v1/admin/webhooks","query":["limit","cursor","sort","account_id"],"reply":"json"},
  "admin.listWebhookDeliveries": {"method":"GET","path":"/v1/admin/webhook-deliveries","query":["limit","cursor","sort","account_id","webhook_id","status"],"reply":"json"},
  "admin.listAudit": {"method":"GET","path":"/v1/admin/audit","query":["limit","cursor","sort","from","to","action","actor_kind","target_type","outcome","actor_id","target_id","account_id","chain"],"reply":"json"},
  "admin.exportAudit": {"method":"GET","path":"/v1/admin/audit/export","query":["from","to","chain","format"],"reply":"bytes"},
  "admin.resumeAuditExport": {"method":"GET","path":"/v1/admin/audit/export/{id}","reply":"bytes"},
  "admin.getAuditChain": {"method":"GET","path":"/v1/admin/audit/chains/{chain}","reply":"json"},
  "admin.setUpkeep": {"method":"POST","path":"/v1/admin/vaults/{id}/upkeep","body":"json","keyed":true,"reply":"json"},
  "admin.listErasures": {"method":"GET","path":"/v1/admin/erasures","query":["limit","cursor","sort"],"reply":"json"},
  "admin.overview": {"method":"GET","path":"/v1/admin/overview","reply":"json"},
  "admin.listJobs": {"method":"GET","path":"/v1/admin/jobs","query":["limit","cursor","sort","kind","state"],"reply":"json"},
  "admin.listSnapshots": {"method":"GET","path":"/v1/admin/snapshots","query":["limit","cursor","sort","account_id","status","failure","writer_id"],"reply":"json"},
  "admin.listRestores": {"method":"GET","path":"/v1/admin/restores","query":["limit","cursor","sort","account_id","status","failure"],"reply":"json"},
} as const;

