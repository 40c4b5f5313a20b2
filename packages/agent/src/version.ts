/** The version of the agent, as it reports it to the service. */

export const version = "0.1.0";
