/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { withdrawalPages } from "./confirm-withdrawal.ts";
import { withdrawalDoor } from "./open-withdrawal.ts";
import { submitApplication } from "./submit-application.ts";
import { withdrawApplication } from "./withdraw-application.ts";

export const applicationEndpoints: readonly Endpoint[] = [
  submitApplication,
  withdrawApplication,
  ...withdrawalDoor,
  ...withdrawalPages,
];

export const applicationTags: readonly OpenapiTag[] = [
  { name: "applications", description: "Applications for an account." },
];
