import type { StartingCall } from "../../../agent/facet.ts"
import type { CommandNotices } from "../../services/command-notices.ts"

/** What the checks of a session found, for the user and for the model. */
export interface Findings {
  add(texts: readonly string[]): void
  /** For the user only. */
  inform(texts: readonly string[]): void
  /** How many there were so far. */
  count(): number
  /** Shows the user what was found since the last time. */
  showIn(call: StartingCall): void
  /** Returns what was found since the last time, for the end of a turn. */
  takeForUser(): string | undefined
  /** The user has seen what was taken. */
  shown(): void
  takeForModel(): string | undefined
}

export function createFindings(notices: CommandNotices, { hasUser }: { readonly hasUser: boolean }): Findings {
  let count = 0
  const forModel: string[] = []
  return {
    add: (texts) => {
      count += texts.length
      notices.add(texts)
      forModel.push(...texts)
    },
    inform: (texts) => {
      notices.add(texts)
    },
    count: () => count,
    showIn: ({ signal, tell }) => {
      // The reader of an interrupted run may be gone.
      if (hasUser && !signal.aborted) for (const text of notices.take()) tell("warning", text)
    },
    takeForUser: () => {
      const texts = hasUser ? notices.take() : []
      return texts.length === 0 ? undefined : texts.join("\n")
    },
    shown: () => {
      if (hasUser) notices.shown()
    },
    takeForModel: () => (forModel.length === 0 ? undefined : `${forModel.splice(0).join("\n")}\n${HOW_TO_CREATE}`),
  }
}

const HOW_TO_CREATE =
  "[Commands cannot create files that other programs execute or that agents follow. If the user wants one, write it with a file tool, which asks the user.]"
