/** `GET` and `POST /reset-password`: where the link of a password reset leads. */

import { doorEndpoints } from "../../pages/index.ts";

export const resetDoor = doorEndpoints({
  path: "/reset-password",
  next: "/reset-password/new",
  title: "resetTitle",
  tag: "auth",
  noun: "password_reset",
  about: "new password",
});
