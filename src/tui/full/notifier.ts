import { systemClock } from "../../base/clock.ts"
import type { Environment } from "../../config/environment.ts"
import type { Config } from "../../config/load-config.ts"
import type { RunEnd } from "../../protocol/events.ts"
import type { Screen } from "../screen/screen.ts"

/** Notifies a user who looks elsewhere: with a notification of the terminal, or with its bell. */
export interface Notifier {
  /** A question waits for the user. */
  questionAsked(title: string, directory: string): void
  turnEnded(end: RunEnd, elapsedMs: number): void
}

export interface NotifierOptions {
  readonly config: Config
  readonly environment: Environment
  readonly screen: Pick<Screen, "focused" | "control">
  /** Milliseconds since the epoch. */
  readonly lastKeyAt: () => number
  readonly begin: (work: () => Promise<void>) => void
}

/** A shorter turn ends while the user still looks. */
const NOTIFY_AFTER_MS = 10_000

export function createNotifier({ config, environment, screen, lastKeyAt, begin }: NotifierOptions): Notifier {
  /** Where the terminal does not report the focus, a user who has just pressed a key is there. */
  const isWatched = (): boolean => screen.focused ?? systemClock.now() - lastKeyAt() < NOTIFY_AFTER_MS
  const notify = (title: string, text: string): void => {
    begin(async () => {
      const { notificationOptions, notificationSequence } = await import("../screen/notification.ts")
      const options = notificationOptions(config, (name) => environment.get(name))
      const rings = config.get("display.bell_on_complete")
      if (isWatched() && !rings) return
      screen.control(notificationSequence({ title, text }, rings ? { ...options, channel: "bell" } : options))
    })
  }
  return {
    questionAsked: notify,
    turnEnded: (end, elapsedMs) => {
      if (elapsedMs < NOTIFY_AFTER_MS && !config.get("display.bell_on_complete")) return
      const title = end.outcome === "error" ? "Hermes stopped with an error" : "Hermes has finished"
      notify(title, end.result.finalResponse ?? "")
    },
  }
}
