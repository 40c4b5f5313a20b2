/** Whether the service lives and serves. Owns no table; its endpoints are for supervisors and load balancers. */

export { health } from "./shapes.ts";
