/** Every operation of this part, and the tags that group them in the API document. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../../kernel/http/openapi.ts";
import { adminListMembers } from "./admin-list-members.ts";
import { beginTotp } from "./begin-totp.ts";
import { changePassword } from "./change-password.ts";
import { confirmPhone } from "./confirm-phone.ts";
import { confirmTotp } from "./confirm-totp.ts";
import { getMe } from "./get-me.ts";
import { getMember } from "./get-member.ts";
import { inviteMember } from "./invite-member.ts";
import { listAccountMembers } from "./list-members.ts";
import { removeMember } from "./remove-member.ts";
import { renewCodes } from "./renew-recovery-codes.ts";
import { requestPhoneCode } from "./request-phone-code.ts";
import { resendInvitation } from "./resend-invitation.ts";
import { updateMe } from "./update-me.ts";
import { updateMember } from "./update-member.ts";

export const memberEndpoints: readonly Endpoint[] = [
  listAccountMembers,
  inviteMember,
  getMember,
  updateMember,
  removeMember,
  resendInvitation,
  getMe,
  updateMe,
  changePassword,
  beginTotp,
  confirmTotp,
  renewCodes,
  requestPhoneCode,
  confirmPhone,
  adminListMembers,
];

export const memberTags: readonly OpenapiTag[] = [
  { name: "me", description: "The signed-in person: name, password, second factor, phone." },
  { name: "members", description: "The people of an account and their roles." },
];
