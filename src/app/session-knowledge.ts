import type { Clock } from "../base/clock.ts"
import type { Log } from "../base/log.ts"
import type { Redactor } from "../base/redact.ts"
import type { ResultNoteSource } from "../agent/dispatch/result-note.ts"
import { createLearningNotes } from "../agent/learning-notes.ts"
import { createTodoList } from "../agent/todo-list.ts"
import type { TodoList } from "../agent/todo-list.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import type { Workspace } from "../exec/workspace.ts"
import { createLearningsStore } from "../knowledge/learnings/learnings-store.ts"
import type { LearningsStore } from "../knowledge/learnings/learnings-store.ts"
import { memoryOptions } from "../knowledge/memory/memory-settings.ts"
import { createMemoryStore } from "../knowledge/memory/memory-store.ts"
import type { MemoryStore } from "../knowledge/memory/memory-store.ts"
import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import { createSubdirectoryHints } from "../knowledge/subdirectory-hints.ts"
import { ignoresRules } from "./session-prompt.ts"

interface Sources {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  readonly log: Log
  readonly redactor: Redactor
}

/** What a session remembers, learns and plans. */
export interface SessionKnowledge {
  readonly memory: MemoryStore
  readonly learnings: LearningsStore
  readonly todo: TodoList
  /** The lessons that helped most often, for the prompt. */
  readonly topLearnings: readonly string[]
  /** What is added to results. */
  readonly notes: readonly ResultNoteSource[]
  beginTurn(): void
}

/** Lessons in the prompt of a session. */
const TOP_LEARNINGS = 5
const MAX_HINT_CHARS = 8000

export function openKnowledge(
  { workspace, onMemoryWrite }: { readonly workspace: Workspace; readonly onMemoryWrite: (write: MemoryWrite) => void },
  sources: Sources,
): SessionKnowledge {
  const { config, environment, home, clock, log, redactor } = sources
  const redact = (text: string): string => redactor.redact(text)
  const learnings = createLearningsStore({ path: home.file("learnings.jsonl"), clock, redact })
  const memory = openMemory(sources, { learnings, onWrite: onMemoryWrite })
  const todo = createTodoList({ nudgeAfter: config.get("todo.nudge_after") })
  const lessons = createLearningNotes({
    store: learnings,
    autoCapture: config.get("learnings.auto_capture"),
    autoInject: config.get("learnings.auto_inject"),
    log,
  })
  const rules = ignoresRules(environment)
    ? undefined
    : createSubdirectoryHints({ root: workspace.cwd(), files: workspace.files, maxChars: MAX_HINT_CHARS })
  return {
    memory,
    learnings,
    todo,
    topLearnings: config.get("learnings.auto_inject") ? lessons.top(TOP_LEARNINGS) : [],
    notes: [...(rules === undefined ? [] : [rulesNote(rules)]), lessons.note, todo.note],
    beginTurn: () => {
      lessons.beginTurn()
    },
  }
}

/** The two memory files of the home, as the settings allow them. */
export function openMemory(
  { config, environment, home, clock }: Omit<Sources, "log" | "redactor">,
  more: { readonly learnings?: LearningsStore; readonly onWrite?: (write: MemoryWrite) => void } = {},
): MemoryStore {
  const { learnings } = more
  return createMemoryStore({
    ...memoryOptions({ home: home.path, config, clock }),
    ...(environment.truthy("HERMES_SAFE_MODE") ? { off: ["memory", "user"] as const } : {}),
    ...(more.onWrite === undefined ? {} : { onWrite: more.onWrite }),
    ...(learnings === undefined ? {} : { searchLearnings: (query) => learningTexts(learnings, query) }),
  })
}

function learningTexts(
  learnings: LearningsStore,
  query: string,
): ReturnType<NonNullable<Parameters<typeof createMemoryStore>[0]["searchLearnings"]>> {
  const found = learnings.search(query, { limit: 20 })
  return Promise.resolve(
    found.ok
      ? found.value.map(({ learning }) => ({
          text: `${learning.pattern}: ${learning.fix}`,
          at: learning.createdAt * 1000,
        }))
      : [],
  )
}

function rulesNote(hints: ReturnType<typeof createSubdirectoryHints>): ResultNoteSource {
  return async ({ subjects, outcome }) => {
    if (outcome !== "ok") return undefined
    const path = subjects.find((subject) => subject.kind === "path")?.path
    return path === undefined ? undefined : await hints.hintFor(path)
  }
}
