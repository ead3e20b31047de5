import { existsSync } from "node:fs"

import { lazy } from "../../base/lazy.ts"
import { learningsLayer } from "../../agent/prompt/learnings-layer.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** How many learnings the prompt contains. */
const LEARNINGS_IN_PROMPT = 5

/** Error → fix pairs across sessions. Opened on first use, because most conversations need none. */
export function learningsFacet({ services, isPreview }: FacetContext): AppFacet {
  const { config, home, clock, log, redactor } = services
  const path = home.file("learnings.jsonl")
  const learned = lazy(async () => {
    const [{ createLearningsStore }, { createLearningNotes }] = await Promise.all([
      import("../../knowledge/learnings/learnings-store.ts"),
      import("../../agent/learning-notes.ts"),
    ])
    const store = createLearningsStore({ path, clock, redact: (text) => redactor.redact(text) })
    const notes = createLearningNotes({
      store,
      autoCapture: config.get("learnings.auto_capture"),
      autoInject: config.get("learnings.auto_inject"),
      log,
    })
    return { store, notes }
  })
  let turns = 0
  let notedTurn = 0
  return {
    name: "learnings",
    ports: () => ({ learnings: async () => (await learned()).store }),
    promptLayers: async () => {
      if (isPreview || !config.get("learnings.auto_inject") || !existsSync(path)) return []
      return [learningsLayer((await learned()).notes.top(LEARNINGS_IN_PROMPT))]
    },
    beforeTurn: () => {
      turns += 1
      return Promise.resolve(undefined)
    },
    afterTool: async (call, signal) => {
      const { notes } = await learned()
      if (notedTurn !== turns) notes.beginTurn()
      notedTurn = turns
      return await notes.note(call, signal)
    },
    close: async () => {
      await (await learned.peek())?.store.consolidate()
    },
  }
}
