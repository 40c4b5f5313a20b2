/** The only import of the library, after the modules that must be loaded before it. */

import "./runtime.ts";

export {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
} from "oidc-provider";
