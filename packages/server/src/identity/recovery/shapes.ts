/** A password reset as the API takes it. */

import { closed } from "../../kernel/http/schema.ts";
import { linkToken, passwordSchema } from "../factors/index.ts";

export const passwordReset = closed({ token: linkToken, new_password: passwordSchema }, { title: "PasswordReset" });
