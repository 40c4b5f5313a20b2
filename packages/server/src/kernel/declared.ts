/** What domains declare, as the kernel gets it: whole tables, collected by `declarations.ts`. */

import type { PathRules } from "./http/path-rules.ts";
import type { Policies } from "./limits/policies.ts";
import type { OauthScopes } from "./principal.ts";
import type { ProblemCatalogue } from "./problems.ts";

export interface Declared {
  readonly problems: ProblemCatalogue;
  readonly policies: Policies;
  readonly oauthScopes: OauthScopes;
  readonly paths: PathRules;
}
