/**
 * The client of the Emanet API.
 *
 * `createClient` makes an object with a function for every operation of the OpenAPI document:
 * `client.members.list()`. The functions and their types are generated (`api.generated.ts`); what they share is written by
 * hand: requests and retries (`request.ts`), errors (`errors.ts`), sign-in (`credentials.ts`), bodies as streams
 * (`streams.ts`).
 *
 * A call promises:
 * - An error of the service is a `ProblemError` with its code, or an `OauthError` under `/oauth2/`.
 * - A repeated POST has the `Idempotency-Key` of the first attempt. A request that must not be sent twice is not repeated.
 * - `Retry-After` is waited for, unless it is longer than the client may wait.
 * - When its signal is aborted, a call ends at once with the reason of the signal, and nothing more is sent.
 *
 * @example
 * const client = createClient({
 *   baseUrl: "https://api.emanet.example",
 *   credentials: clientCredentials({ clientId, clientSecret }),
 * });
 * for await (const member of client.members.list.all({ limit: 100 })) console.log(member.email);
 */

export type { EmanetApi } from "./api.generated.ts";
export { type ClientOptions, createClient, type EmanetClient } from "./client.ts";
export {
  bearerToken,
  browserSession,
  type ClientCredentialsOptions,
  clientCredentials,
  type RefreshTokenOptions,
  refreshToken,
  type SessionCredentials,
} from "./credentials.ts";
export { ConnectionError, EmanetError, isProblem, OauthError, ProblemError, UnexpectedAnswerError } from "./errors.ts";
export type { Answer, BytesOperation, CallOptions, ListOperation, Operation } from "./operation.ts";
export type { Credentials, Platform, RawAnswer, RawRequest, TokenRequest } from "./request.ts";
export type { Retries } from "./retry.ts";
export * from "./schemas.generated.ts";
export { type FileToSend, type SendFilesOptions, sendFiles } from "./send-files.ts";
export type { OnProgress, Progress, RequestBody, StreamedBody } from "./streams.ts";
