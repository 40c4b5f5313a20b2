/** `GET /withdraw`: the page that the link of a withdrawal leads to. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { showLinkPage } from "../../pages/index.ts";
import { withdrawalLinkPage } from "../withdrawal-pages.ts";

export const showWithdrawalLink: Endpoint = showLinkPage(withdrawalLinkPage);
