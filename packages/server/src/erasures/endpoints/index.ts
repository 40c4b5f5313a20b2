/** Every operation of this domain. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { adminListErasures } from "./admin-list-erasures.ts";
import { listErasures } from "./list-erasures.ts";

export const erasureEndpoints: readonly Endpoint[] = [listErasures, adminListErasures];
