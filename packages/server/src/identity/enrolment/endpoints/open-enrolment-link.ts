/** `POST /enrol`: takes the secret of the link into a cookie and leads on. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { openLinkPage } from "../../../pages/index.ts";
import { enrolmentLinkPage } from "../enrolment-pages.ts";

export const openEnrolmentLink: Endpoint = openLinkPage(enrolmentLinkPage);
