/** Every operation of this domain. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { cancelRecoveryKit } from "./cancel-recovery-kit.ts";
import { createRecoveryKit } from "./create-recovery-kit.ts";
import { downloadRecoveryKit } from "./download-recovery-kit.ts";
import { listRecoveryKits } from "./list-recovery-kits.ts";

export const recoveryKitEndpoints: readonly Endpoint[] = [
  listRecoveryKits,
  createRecoveryKit,
  cancelRecoveryKit,
  downloadRecoveryKit,
];
