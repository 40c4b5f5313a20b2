/** `GET /enrol`: the page that the link of an enrolment leads to. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { showLinkPage } from "../../../pages/index.ts";
import { enrolmentLinkPage } from "../enrolment-pages.ts";

export const showEnrolmentLink: Endpoint = showLinkPage(enrolmentLinkPage);
