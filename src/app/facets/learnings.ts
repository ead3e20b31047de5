import { existsSync } from "node:fs"

import { lazy } from "../../base/lazy.ts"
import { learningsLayer } from "../../agent/prompt/learnings-layer.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** How many learnings the prompt contains. */
const LEARNINGS_IN_PROMPT = 5

/** Error → fix pairs across sessions. Opened on first use, because most conversations need none. */
export function learningsFacet(context: FacetContext): AppFacet {
  const { services, isPreview } = context
  const { config, home, clock, log, redactor, environment } = services
  const autoInject = config.get("learnings.auto_inject") && !environment.truthy("HERMES_SAFE_MODE")
  const path = home.file("learnings.jsonl")
  const learned = lazy(async () => {
    const [{ createLearningsStore }, { openCandidateFile }, { createLearningNotes }] = await Promise.all([
      import("../../knowledge/learnings/learnings-store.ts"),
      import("../../knowledge/learnings/candidate-file.ts"),
      import("../../agent/learning-notes.ts"),
    ])
    const redact = (text: string): string => redactor.redact(text)
    const store = createLearningsStore({ path, clock, redact })
    const notes = createLearningNotes({
      store,
      candidates: openCandidateFile({ path: home.file("learning_candidates.json"), clock, redact }),
      session: () => context.session().conversation.id,
      clock,
      autoCapture: config.get("learnings.auto_capture"),
      autoInject,
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
      if (isPreview || !autoInject || !existsSync(path)) return []
      return [learningsLayer((await learned()).notes.top(LEARNINGS_IN_PROMPT))]
    },
    beforeTurn: () => {
      turns += 1
      return Promise.resolve(undefined)
    },
    afterTool: async (call, signal) => {
      // Plan mode leaves nothing behind, not even what was learned from a failure.
      if (context.session().dispatch.permissions.profile === "plan") return undefined
      const { notes } = await learned()
      if (notedTurn !== turns) notes.beginTurn()
      notedTurn = turns
      return await notes.note(call, signal)
    },
    close: async () => {
      const opened = await learned.peek()
      await opened?.notes.close()
      await opened?.store.consolidate()
    },
  }
}
