/** Every operation of this domain, and the tag that groups them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { createAgent } from "./create-agent.ts";
import { deleteAgent } from "./delete-agent.ts";
import { getAgent } from "./get-agent.ts";
import { getAgentKeys } from "./get-agent-keys.ts";
import { listAgentsOfAccount } from "./list-agents.ts";
import { replaceAgent } from "./replace-agent.ts";
import { updateAgentFacts } from "./update-agent.ts";

export const agentEndpoints: readonly Endpoint[] = [
  listAgentsOfAccount,
  createAgent,
  getAgent,
  updateAgentFacts,
  deleteAgent,
  replaceAgent,
  getAgentKeys,
];

export const agentTags: readonly OpenapiTag[] = [
  { name: "agents", description: "Installed backup clients with a signing key." },
];
