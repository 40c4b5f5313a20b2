/** The face of everything about the server's certificate; what it means is told in `certificate-pair.ts`. */

export {
  CertificateError,
  type CertificateErrorCode,
  type CertificatePair,
  type Certificates,
  type ReloadOutcome,
} from "./certificate-pair.ts";
export { type LocalAuthorityOptions, openLocalAuthority } from "./local-authority.ts";
export { type OwnCertificateOptions, openOwnCertificate } from "./own-certificate.ts";
