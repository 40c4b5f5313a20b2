/** Every operation of this domain. Pages are not in the API document, so they have no tag of their own. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { getFile } from "./get-file.ts";
import { getHome } from "./get-home.ts";
import { getScreen } from "./get-screen.ts";

export const dashboardEndpoints: readonly Endpoint[] = [getHome, getScreen, getFile];
