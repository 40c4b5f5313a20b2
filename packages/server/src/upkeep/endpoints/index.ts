/** Every operation of this domain. They are in the tag of the staff operations. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { setUpkeep } from "./admin-set-upkeep.ts";

export const upkeepEndpoints: readonly Endpoint[] = [setUpkeep];
