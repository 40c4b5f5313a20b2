/** `GET` and `POST /withdraw`: where the link that withdraws an application leads. */

import { doorEndpoints } from "../../pages/index.ts";

export const withdrawalDoor = doorEndpoints({
  path: "/withdraw",
  next: "/withdraw/confirm",
  title: "withdrawTitle",
  tag: "applications",
  noun: "withdrawal",
  about: "withdrawal of an application",
});
