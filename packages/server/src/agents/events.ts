/** The events of agents. */

import { eventType } from "../kernel/events.ts";
import { closed, uuid } from "../kernel/http/schema.ts";

export const agentRegistered = eventType({
  name: "agent.registered",
  summary: "A machine was connected",
  description: "An agent has registered its key and can write. A person allowed it before.",
  fields: closed({ agent_id: uuid("The agent.") }, { title: "AgentRegistered" }),
});

export const agentEvents = [agentRegistered];
