import { counted } from "../../base/counted.ts"
import { ellipsize } from "../../base/text.ts"
import type { Message } from "../../protocol/message.ts"
import type { FacetContext } from "../session/facet-context.ts"
import { runBackgroundTurn, type BackgroundCall } from "./background-turn.ts"

const INSTRUCTION =
  "[This is not from the user. Review the conversation: did they correct you, state a preference, or tell you something about " +
  "themselves or their projects that will still be true in a month and is not in memory yet? If so, note it with the memory tool, one " +
  "short fact each; bring outdated entries up to date. If there is nothing of that kind, just say so. Do nothing else.]"

/** Runs a copy of the agent on the finished conversation. It can only change memory and learnings, and asks the user nothing. Returns its calls. */
export async function reviewConversation(
  messages: readonly Message[],
  context: FacetContext,
  signal: AbortSignal,
): Promise<readonly BackgroundCall[]> {
  return await runBackgroundTurn({ runId: "review", messages, instruction: INSTRUCTION }, context, signal)
}

/** What the user is informed of, according to `display.memory_notifications`; undefined when nothing was changed. */
export function memoryNote(
  calls: readonly BackgroundCall[],
  { isVerbose, changesMemory }: { readonly isVerbose: boolean; readonly changesMemory: (tool: string) => boolean },
): string | undefined {
  const changes = calls.filter(({ end: { call, outcome } }) => {
    const action = call.args["action"]
    return outcome === "ok" && changesMemory(call.name) && action !== "read" && action !== "search"
  })
  const staged = changes.filter(({ end }) => end.summary === "staged").length
  const done = changes.length - staged
  if (changes.length === 0) return undefined
  const parts = [
    ...(done === 0 ? [] : [`Hermes has updated its memory (${counted(done, "change")}); /memory shows it.`]),
    ...(staged === 0
      ? []
      : [
          `${counted(staged, "change")} to memory ${staged === 1 ? "waits" : "wait"} for your approval: /memory pending.`,
        ]),
  ]
  const details = changes.map(({ preview }) => `  ${ellipsize(preview.replaceAll(/\s+/gu, " "), MAX_PREVIEW_CHARS)}`)
  return [parts.join(" "), ...(isVerbose ? details : [])].join("\n")
}

const MAX_PREVIEW_CHARS = 120
