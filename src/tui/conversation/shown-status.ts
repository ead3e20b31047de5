import { asSentence } from "../../base/sentence.ts"
import type { LiveEvent } from "../chat-ui.ts"

const SHOWN_KINDS: ReadonlySet<string> = new Set(["warning", "retry", "notice", "fallback", "rotate", "compress"])

/** The sentence that users see about a status event; undefined for one that they do not see. */
export function shownStatus(event: Extract<LiveEvent, { type: "status" }>): string | undefined {
  if (event.kind === "permission-profile") {
    // A command of the user has replied already.
    if (event.by === "user") return undefined
    const why = event.by === "plan" ? ", because you approved the plan" : ""
    return `The permission profile is now ${event.new} instead of ${event.old}${why}. /permissions changes it.`
  }
  return SHOWN_KINDS.has(event.kind) && event.text !== "" ? asSentence(event.text) : undefined
}
