import { existsSync } from "node:fs"

import type { ResultNoteSource } from "../agent/dispatch/result-note.ts"
import { createTodoList } from "../agent/todo-list.ts"
import type { TodoList } from "../agent/todo-list.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { LearningsStore } from "../knowledge/learnings/learnings-store.ts"
import { memoryOptions } from "../knowledge/memory/memory-settings.ts"
import { createMemoryStore } from "../knowledge/memory/memory-store.ts"
import type { MemoryStore } from "../knowledge/memory/memory-store.ts"
import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import { createSubdirectoryHints } from "../knowledge/subdirectory-hints.ts"
import type { Shared } from "./session-options.ts"
import { ignoresRules } from "./session-prompt.ts"

type Sources = Pick<Shared, "config" | "environment" | "home" | "clock" | "log" | "redactor">

/** What a session remembers, learns and plans. */
export interface SessionKnowledge {
  readonly memory: MemoryStore
  /** Opened with the first use, as most conversations neither fail nor learn. */
  readonly learnings: () => Promise<LearningsStore>
  readonly todo: TodoList
  /** The lessons that helped most often, for the prompt. */
  topLearnings(): Promise<readonly string[]>
  /** What is added to results. */
  readonly notes: readonly ResultNoteSource[]
  beginTurn(): void
  close(): Promise<void>
}

/** Lessons in the prompt of a session. */
const TOP_LEARNINGS = 5
const MAX_HINT_CHARS = 8000

export function openKnowledge(
  { workspace, onMemoryWrite }: { readonly workspace: Workspace; readonly onMemoryWrite: (write: MemoryWrite) => void },
  sources: Sources,
): SessionKnowledge {
  const { config, environment, home, clock, log, redactor } = sources
  const path = home.file("learnings.jsonl")
  let opening: ReturnType<typeof open> | undefined
  const open = async () => {
    const [{ createLearningsStore }, { createLearningNotes }] = await Promise.all([
      import("../knowledge/learnings/learnings-store.ts"),
      import("../agent/learning-notes.ts"),
    ])
    const store = createLearningsStore({ path, clock, redact: (text) => redactor.redact(text) })
    const notes = createLearningNotes({
      store,
      autoCapture: config.get("learnings.auto_capture"),
      autoInject: config.get("learnings.auto_inject"),
      log,
    })
    return { store, notes }
  }
  const learned = (): ReturnType<typeof open> => (opening ??= open())
  const learnings = async (): Promise<LearningsStore> => (await learned()).store
  const memory = openMemory(sources, { learnings, onWrite: onMemoryWrite })
  const todo = createTodoList({ nudgeAfter: config.get("todo.nudge_after") })
  const rules = ignoresRules(environment)
    ? undefined
    : createSubdirectoryHints({ root: workspace.cwd(), files: workspace.files, maxChars: MAX_HINT_CHARS })
  let turns = 0
  let turnBegun = 0
  return {
    memory,
    learnings,
    todo,
    topLearnings: async () =>
      config.get("learnings.auto_inject") && existsSync(path) ? (await learned()).notes.top(TOP_LEARNINGS) : [],
    notes: [
      ...(rules === undefined ? [] : [rulesNote(rules)]),
      async (call, signal) => {
        const { notes } = await learned()
        if (turnBegun !== turns) notes.beginTurn()
        turnBegun = turns
        return await notes.note(call, signal)
      },
      todo.note,
    ],
    beginTurn: () => {
      turns += 1
    },
    close: async () => {
      if (opening !== undefined) await (await opening).store.consolidate()
    },
  }
}

/** The two memory files of the home, as the settings allow them. */
export function openMemory(
  { config, environment, home, clock }: Omit<Sources, "log" | "redactor">,
  more: { readonly learnings?: () => Promise<LearningsStore>; readonly onWrite?: (write: MemoryWrite) => void } = {},
): MemoryStore {
  const { learnings } = more
  return createMemoryStore({
    ...memoryOptions({ home: home.path, config, clock }),
    ...(environment.truthy("HERMES_SAFE_MODE") ? { off: ["memory", "user"] as const } : {}),
    ...(more.onWrite === undefined ? {} : { onWrite: more.onWrite }),
    ...(learnings === undefined ? {} : { searchLearnings: (query) => learningTexts(learnings, query) }),
  })
}

async function learningTexts(
  learnings: () => Promise<LearningsStore>,
  query: string,
): Promise<readonly { readonly text: string; readonly at: number }[]> {
  const found = (await learnings()).search(query, { limit: 20 })
  if (!found.ok) return []
  return found.value.map(({ learning }) => ({
    text: `${learning.pattern}: ${learning.fix}`,
    at: learning.createdAt * 1000,
  }))
}

function rulesNote(hints: ReturnType<typeof createSubdirectoryHints>): ResultNoteSource {
  return async ({ tool, subjects, outcome }) => {
    if (outcome !== "ok") return undefined
    const path = subjects.find((subject) => subject.kind === "path")?.path
    return path === undefined ? undefined : await hints.hintFor(path, FILE_TOOLS.has(tool) ? "file" : undefined)
  }
}

/** What these were successful with is a file. */
const FILE_TOOLS = new Set(["read_file", "write_file", "patch"])
