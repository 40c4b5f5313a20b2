/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { adminApproveApplication } from "./admin-approve-application.ts";
import { adminGetApplication } from "./admin-get-application.ts";
import { adminListApplications } from "./admin-list-applications.ts";
import { adminRejectApplication } from "./admin-reject-application.ts";
import { adminReviewApplication } from "./admin-review-application.ts";
import { confirmWithdrawal } from "./confirm-withdrawal.ts";
import { openWithdrawalLink } from "./open-withdrawal-link.ts";
import { showWithdrawalForm } from "./show-withdrawal-form.ts";
import { showWithdrawalLink } from "./show-withdrawal-link.ts";
import { submitApplication } from "./submit-application.ts";
import { withdrawApplication } from "./withdraw-application.ts";

export const applicationEndpoints: readonly Endpoint[] = [
  submitApplication,
  withdrawApplication,
  adminListApplications,
  adminGetApplication,
  adminReviewApplication,
  adminApproveApplication,
  adminRejectApplication,
  showWithdrawalLink,
  openWithdrawalLink,
  showWithdrawalForm,
  confirmWithdrawal,
];

export const applicationTags: readonly OpenapiTag[] = [
  { name: "applications", description: "Applications for an account." },
];
