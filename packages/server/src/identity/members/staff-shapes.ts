/** A member as staff see them. */

import { memberSchema } from "../../accounts/index.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";

export const adminMemberSchema = closed(
  { ...memberSchema.properties, account_id: uuid("The member's account.") },
  { title: "AdminMember" },
);
