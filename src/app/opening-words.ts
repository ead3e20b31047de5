import type { Past } from "./session-past.ts"

/** What a person must know of a conversation that they take up again. */
export function openingWarnings(past: Past | undefined): readonly string[] {
  return [...interruptedCalls(past), ...openTwice(past)]
}

/** A stored prompt stays as it is (law 3), so what has changed about the place is told with the next message, once. */
export function untoldPlace(about: string | undefined, past: Past | undefined): string | undefined {
  if (about === undefined || past?.system === undefined) return undefined
  const told = [...past.messages.keys()].flatMap((message) =>
    message.role === "user" && message.injected?.includes(PLACE_MARK) === true ? [message.injected] : [],
  )
  const [which = ""] = about.split("\n", 1)
  return (told.at(-1) ?? past.system).includes(which) ? undefined : `${PLACE_MARK} ${about}]`
}

const PLACE_MARK = "[The place has changed."

/** What was in flight when the last process ended: nothing of it is run again. */
function interruptedCalls(past: Past | undefined): readonly string[] {
  if (past === undefined || past.interrupted.length === 0) return []
  const names = past.interrupted.join(", ")
  return [`Hermes was ended while this ran, and its outcome is unknown: ${names}. It is not run again.`]
}

function openTwice(past: Past | undefined): readonly string[] {
  return past?.openIn === undefined
    ? []
    : [
        `This conversation is also open in process ${past.openIn}. What is said there is heard here with your next message; better let only one of them answer at a time.`,
      ]
}
