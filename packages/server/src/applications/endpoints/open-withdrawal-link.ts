/** `POST /withdraw`: takes the secret of the link into a cookie and leads on. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { openLinkPage } from "../../pages/index.ts";
import { withdrawalLinkPage } from "../withdrawal-pages.ts";

export const openWithdrawalLink: Endpoint = openLinkPage(withdrawalLinkPage);
