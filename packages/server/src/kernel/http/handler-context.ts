/**
 * What a handler gets beside its call. Its members are found or made when they are asked for: few handlers use more than two
 * of them. So it must not be copied by its own properties (`{ ...ctx }`).
 */

import type { RunRead, RunTx } from "../tx.ts";
import { checkAccess } from "./access.ts";
import { principalOfLongAnswer } from "./authentication.ts";
import { type Ctx, type Endpoint, isTransfer } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import type { RequestContext } from "./request-context.ts";
import { spendLater } from "./request-limits.ts";
import type { RequestSignal } from "./request-signal.ts";

export interface HandledRequest {
  readonly kernel: HttpKernel;
  readonly endpoint: Endpoint;
  readonly context: RequestContext;
  readonly signal: RequestSignal;
}

export class HandlerContext implements Ctx {
  readonly #request: HandledRequest;
  readonly tx: RunTx;
  readonly recordReply: Ctx["recordReply"];

  constructor(request: HandledRequest, tx: RunTx, recordReply: Ctx["recordReply"]) {
    this.#request = request;
    this.tx = tx;
    this.recordReply = recordReply;
  }

  get settings(): Ctx["settings"] {
    return this.#request.kernel.settings;
  }

  get clock(): Ctx["clock"] {
    return this.#request.kernel.clock;
  }

  get random(): Ctx["random"] {
    return this.#request.kernel.random;
  }

  get cursors(): Ctx["cursors"] {
    return this.#request.kernel.cursors;
  }

  get secrets(): Ctx["secrets"] {
    return this.#request.kernel.secrets;
  }

  get services(): Ctx["services"] {
    return this.#request.kernel.services;
  }

  get tokens(): Ctx["tokens"] {
    return this.#request.kernel.tokens;
  }

  get limiter(): Ctx["limiter"] {
    return this.#request.kernel.limiter;
  }

  get publicUrl(): string {
    return this.#request.kernel.publicUrl();
  }

  get signal(): AbortSignal {
    return this.#request.signal.signal;
  }

  get log(): Ctx["log"] {
    const { kernel, context, endpoint } = this.#request;
    return kernel.log.child({ request_id: context.requestId, operation: endpoint.spec.id });
  }

  get read(): RunRead {
    const { kernel, signal } = this.#request;
    return (access, inside) => kernel.transactions.read({ signal }, access, inside);
  }

  get recheck(): Ctx["recheck"] {
    const { kernel, context, endpoint } = this.#request;
    return async () => {
      const principal = await principalOfLongAnswer(kernel, context);
      if (principal === null) return context.principal;
      checkAccess(endpoint.spec, kernel.declared.oauthScopes, principal, kernel.clock.now());
      return principal;
    };
  }

  get spend(): Ctx["spend"] {
    const { kernel, context } = this.#request;
    return (policies, subject) => spendLater(kernel, context, policies, subject);
  }

  get actAs(): Ctx["actAs"] {
    const { context } = this.#request;
    return (actor) => {
      context.actor = actor;
    };
  }

  get progressed(): () => void {
    const { endpoint, signal } = this.#request;
    return isTransfer(endpoint.spec) ? () => signal.restart() : notLong;
  }
}

function notLong(): never {
  throw new Error("only operations with an upload or a stream can take longer than their deadline");
}
