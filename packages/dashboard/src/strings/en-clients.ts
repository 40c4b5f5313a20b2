/** The texts of the API clients in English. */

import { count } from "../format.ts";
import type { trClients } from "./tr-clients.ts";

export const enClients: typeof trClients = {
  title: "API clients",
  add: "Create a client",
  lead: (n) =>
    n === 1
      ? "1 program can connect to this account by the API"
      : `${count(n)} programs can connect to this account by the API`,
  lastUsed: (when) => `Last used ${when}`,
  neverUsed: "Never used",
  allVaults: "All vaults",
  vaults: (n) => (n === 1 ? "1 vault" : `${count(n)} vaults`),
  forMembers: "For members",
  review: "Needs a review",
  id: "Id of the client",
  rotate: "Renew the secret",
  revoke: "Revoke",
  revokeAsk: (name) => `Revoke ${name}?`,
  revokeDetail: "Its tokens end at once and the program cannot connect any more. The backups that it sent stay.",
  rotateAsk: (name) => `A new secret for ${name}`,
  overlap: "When does the old secret end?",
  overlaps: { "0": "Now", "86400": "After 1 day", "604800": "After 7 days" },
  overlapHint: "Give the program the new secret within this time.",
  secret: "This secret is shown only once",
  secretDetail: "Store it in the settings of the program; do not send it by e-mail.",
  name: "Name",
  nameHint: "A name by which you know the program, for example Logo nightly export",
  scopes: "What may it do?",
  scopesNeeded: "Choose at least one right",
  scopeTexts: {
    "snapshots:read": "Read backups, vaults and files",
    "snapshots:write": "Make backups",
    "restores:read": "See and download restores",
    "restores:write": "Start and stop restores",
    "restores:agent": "Write files back to devices",
    "audit:read": "Read and export the audit trail",
    "webhooks:read": "See webhooks and events",
    "webhooks:write": "Add and change webhooks",
    "account:read": "See the account and its members",
    "account:write": "Change the account and its members",
    "taxpayers:read": "See taxpayers",
    "taxpayers:write": "Add and change taxpayers",
  },
  where: "In which vaults?",
  chosenVaults: "Chosen vaults",
  vaultsNeeded: "Choose at least one vault",
  empty: "Connect your programs",
  emptyDetail: "Begin with a recipe, or choose the rights yourself.",
  use: "Begin with this recipe",
  recipes: {
    backup: {
      title: "A program that sends the nightly backup",
      detail: "Sends backups from your accounting server; it cannot read them.",
      name: "Nightly backup",
    },
    report: {
      title: "Status report",
      detail: "Shows the state of taxpayers and backups on a screen of your own; it changes nothing.",
      name: "Status report",
    },
    audit: {
      title: "Export of the audit trail",
      detail: "Sends the audit trail to your log system (SIEM); it cannot reach files.",
      name: "Audit export",
    },
  },
};
