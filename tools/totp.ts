/** `npm run --silent totp -- <secret>`: the six digits that an authenticator would show now, for the tour and for scripts. */

import { codeAt } from "../packages/server/src/identity/factors/totp.ts";

const [secret] = process.argv.slice(2);
if (secret === undefined || !/^[A-Z2-7]{26,}$/.test(secret)) {
  console.error("Usage: npm run --silent totp -- <secret in base32>");
  process.exitCode = 2;
} else {
  console.log(codeAt(secret, new Date()));
}
