/** The library, imported in one place, after what has to come before it. */

import "./runtime.ts";

export {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
} from "oidc-provider";
