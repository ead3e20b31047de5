import type { Clock } from "../../base/clock.ts"
import type { Redactor } from "../../base/redact.ts"
import type { Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import type { Learning } from "../../knowledge/learnings/learning.ts"
import { createLearningsStore, type LearningsStore } from "../../knowledge/learnings/learnings-store.ts"

export interface LearningsContext {
  readonly home: Home
  readonly clock: Clock
  readonly redactor: Redactor
}

/** Errors and their fixes from earlier sessions, newest first. Fails with a message when the file cannot be read. */
export function listLearnings(context: LearningsContext): Result<readonly Learning[]> {
  return openStore(context).list()
}

/** Removes a learning and returns it. Fails with a message when there is none with this id. */
export async function removeLearning(context: LearningsContext, id: string): Promise<Result<Learning>> {
  return await openStore(context).remove(id)
}

function openStore({ home, clock, redactor }: LearningsContext): LearningsStore {
  return createLearningsStore({
    path: home.file("learnings.jsonl"),
    clock,
    redact: (text) => redactor.redact(text),
  })
}
