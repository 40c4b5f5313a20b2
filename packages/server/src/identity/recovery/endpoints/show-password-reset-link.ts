/** `GET /reset-password`: the page that the link of a password reset leads to. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { showLinkPage } from "../../../pages/index.ts";
import { resetLinkPage } from "../reset-pages.ts";

export const showPasswordResetLink: Endpoint = showLinkPage(resetLinkPage);
