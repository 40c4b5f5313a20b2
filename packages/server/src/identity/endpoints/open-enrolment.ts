/** `GET` and `POST /enrol`: where the link of an enrolment leads. */

import { doorEndpoints } from "../../pages/index.ts";

export const enrolmentDoor = doorEndpoints({
  path: "/enrol",
  next: "/enrol/phone",
  title: "enrolTitle",
  tag: "enrolment",
  noun: "enrolment",
  about: "enrolment",
});
