/** `POST /reset-password`: takes the secret of the link into a cookie and leads on. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { openLinkPage } from "../../../pages/index.ts";
import { resetLinkPage } from "../reset-pages.ts";

export const openPasswordResetLink: Endpoint = openLinkPage(resetLinkPage);
