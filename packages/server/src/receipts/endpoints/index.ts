/** The operations of receipt keys. Receipts themselves are an operation of snapshots. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { getReceiptKeys } from "./get-receipt-keys.ts";

export const receiptEndpoints: readonly Endpoint[] = [getReceiptKeys];
