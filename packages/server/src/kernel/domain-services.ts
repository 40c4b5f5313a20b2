/**
 * What domains keep open while the service runs, such as open vaults or a pool of worker threads. A domain adds a member to
 * {@link Services} by declaration merging, and `open-services.ts` opens it. Handlers get it as `ctx.services`, tasks as
 * `ports.services`. So the kernel imports no domain.
 */

// biome-ignore lint/suspicious/noEmptyInterface: domains add the members by declaration merging
export interface Services {}

/** The part of a task's ports with the services. */
export interface ServicePorts {
  readonly services: Services;
}
