/**
 * Questions of several askers in one call. A call costs the service and the line much the same for one question as for many. A few calls are in flight at
 * the same time; what is asked meanwhile goes together into the next one. A caller may also let a call wait until there are several.
 */

/** Calls in flight, if the caller does not say more: while one is answered, the next one is on its way. */
export const usualCalls = 2;

/** A call that waits for more questions waits no longer than this: a caller may be wrong in that more will come. A call over a line takes as long. */
const maxGatherMs = 40;

/** When a call waits for more questions. */
export interface Gathering {
  /** So many calls are in flight at most. */
  readonly calls: number;
  /** So many are enough. */
  readonly questions: number;
  /** Whether more will come soon. */
  readonly mayMoreCome: () => boolean;
}

const noGathering: Gathering = { calls: usualCalls, questions: 1, mayMoreCome: () => false };

type Ask<Q, A> = (questions: readonly Q[]) => Promise<readonly A[]>;

interface Waiting<Q, A> {
  readonly questions: readonly Q[];
  readonly resolve: (answers: readonly A[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns an `ask` that joins what waits, as far as it `fits` into one call. Each asker gets the answers to its own questions. */
export function joinedCalls<Q, A>(
  ask: Ask<Q, A>,
  fits: (questions: readonly Q[]) => boolean,
  gathering: Gathering = noGathering,
): Ask<Q, A> {
  const waiting: Waiting<Q, A>[] = [];
  let calls = 0;
  let timer: NodeJS.Timeout | undefined;
  const sendOrWait = () => {
    if (waiting.length === 0 || calls >= gathering.calls) return;
    const questions = waiting.reduce((sum, each) => sum + each.questions.length, 0);
    if (questions >= gathering.questions || !gathering.mayMoreCome()) void send();
    else timer ??= setTimeout(() => void send(), maxGatherMs);
  };
  const send = async () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0 || calls >= gathering.calls) return;
    const [joined, questions] = takeSome(waiting, fits);
    calls++;
    try {
      const answers = await ask(questions);
      if (answers.length !== questions.length) throw new Error("a call returned fewer answers than questions");
      let at = 0;
      for (const each of joined) {
        each.resolve(answers.slice(at, at + each.questions.length));
        at += each.questions.length;
      }
    } catch (error) {
      for (const { reject } of joined) reject(error);
    }
    calls--;
    sendOrWait();
  };
  return (questions) =>
    new Promise((resolve, reject) => {
      waiting.push({ questions, resolve, reject });
      sendOrWait();
    });
}

/** Takes the first of those that wait, and those behind it as far as they fit. */
function takeSome<Q, A>(
  waiting: Waiting<Q, A>[],
  fits: (questions: readonly Q[]) => boolean,
): readonly [readonly Waiting<Q, A>[], readonly Q[]] {
  const questions: Q[] = [];
  let count = 0;
  for (const each of waiting) {
    if (count > 0 && !fits([...questions, ...each.questions])) break;
    questions.push(...each.questions);
    count++;
  }
  return [waiting.splice(0, count), questions];
}
