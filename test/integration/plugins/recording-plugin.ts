import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { HOOK_EVENTS, SILENT_EVENTS } from "../../../src/plugins/hooks/hook-events.ts"
import type { AssembledApp } from "../assembled-app.ts"

/** Every event that happens in this release. */
export const EVENTS: readonly string[] = Object.keys(HOOK_EVENTS).filter((event) => !SILENT_EVENTS.has(event))

export interface RecordedEvent {
  readonly event: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** A plugin that writes down every event that it gets. */
export const RECORDER: Readonly<Record<string, string>> = {
  "plugins/recorder/plugin.yaml": "name: recorder\ncapabilities: [hooks]\n",
  "plugins/recorder/index.mjs": `import { appendFileSync } from "node:fs"
export default (context) => {
  const file = context.dataDir + "/events.jsonl"
  for (const event of ${JSON.stringify(EVENTS)})
    context.registerHook(event, (payload) => { appendFileSync(file, JSON.stringify({ event, payload }) + "\\n") })
}
`,
}

export function recordedEvents({ home }: AssembledApp): readonly RecordedEvent[] {
  const path = join(home.path, "plugins-data/recorder/events.jsonl")
  if (!existsSync(path)) return []
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RecordedEvent)
}
