/** All exports about the server's certificate; `certificate-pair.ts` explains them. */

export {
  CertificateError,
  type CertificateErrorCode,
  type CertificatePair,
  type Certificates,
  type ReloadOutcome,
} from "./certificate-pair.ts";
export { type LocalAuthorityOptions, openLocalAuthority } from "./local-authority.ts";
export { type OwnCertificateOptions, openOwnCertificate } from "./own-certificate.ts";
