/** Every operation of this part. They are under the tags of the other parts. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { adminResetSecondFactor } from "./admin-reset-second-factor.ts";
import { askPasswordReset } from "./ask-password-reset.ts";
import { choosePasswordReset } from "./choose-password-reset.ts";
import { decideSecondFactorReset } from "./decide-second-factor-reset.ts";
import { openPasswordResetLink } from "./open-password-reset-link.ts";
import { requestPasswordReset } from "./request-password-reset.ts";
import { resetPassword } from "./reset-password.ts";
import { showPasswordResetDone } from "./show-password-reset-done.ts";
import { showPasswordResetForm } from "./show-password-reset-form.ts";
import { showPasswordResetLink } from "./show-password-reset-link.ts";
import { showPasswordResetRequest } from "./show-password-reset-request.ts";
import { showPasswordResetSent } from "./show-password-reset-sent.ts";

export const recoveryEndpoints: readonly Endpoint[] = [
  decideSecondFactorReset,
  requestPasswordReset,
  resetPassword,
  adminResetSecondFactor,
  showPasswordResetLink,
  openPasswordResetLink,
  showPasswordResetForm,
  choosePasswordReset,
  showPasswordResetDone,
  showPasswordResetRequest,
  askPasswordReset,
  showPasswordResetSent,
];
