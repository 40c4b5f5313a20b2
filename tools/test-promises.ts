/**
 * Makes test files fast. Node's test runner follows every promise of a test file from its creation until the garbage
 * collector frees it, to know which test a call or an uncaught error belongs to. That costs ten times what the promise
 * itself costs, and our code awaits a lot. `tools/test.ts` loads this module into every test file before the runner's own
 * part. The runner is then told of its tests alone, and asks an AsyncLocalStorage which test is running.
 *
 * An uncaught error or unhandled rejection still fails its file; it may be shown for the file, not for one of its tests.
 * Other hooks work as always: only the first one that is made after this module is replaced, if it looks like the runner's.
 */

import hooks from "node:async_hooks";

const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = hooks;

/** The test or suite that is running. */
const running = new AsyncLocalStorage<hooks.AsyncResource>();

/** The runner's own: it remembers which resource is which test. */
let remember: hooks.HookCallbacks["init"];

/** The runner's tests and suites are resources of this type. */
class TestResource extends AsyncResource {
  constructor(type: string, options?: number | hooks.AsyncResourceOptions) {
    super(type, options);
    if (type === "Test") remember?.(this.asyncId(), type, this.triggerAsyncId(), this);
  }

  override runInAsyncScope<This, Result>(
    run: (this: This, ...args: unknown[]) => Result,
    thisArg?: This,
    ...args: unknown[]
  ): Result {
    // Inside: the scope begins with the storage of the moment in which the resource was made.
    return super.runInAsyncScope((): Result => running.run(this, () => Reflect.apply(run, thisArg as This, args)));
  }
}

function createRunnerHook(callbacks: hooks.HookCallbacks): hooks.AsyncHook {
  hooks.createHook = createHook;
  if (Object.keys(callbacks).join() !== "init,destroy") return createHook(callbacks);
  remember = callbacks.init;
  const nothing: hooks.AsyncHook = { enable: () => nothing, disable: () => nothing };
  return nothing;
}

// Node sets this in the processes of test files.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  hooks.createHook = createRunnerHook;
  hooks.AsyncResource = TestResource;
  hooks.executionAsyncId = () => running.getStore()?.asyncId() ?? executionAsyncId();
}
