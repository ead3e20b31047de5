import { channel, subscribe, unsubscribe } from "node:diagnostics_channel"

const CHANNEL = "hermes:uncaught-error"

/** An error that was thrown outside of awaited code. */
export class UncaughtError {
  readonly error: unknown
  private claimed = false

  constructor(error: unknown) {
    this.error = error
  }

  get isClaimed(): boolean {
    return this.claimed
  }

  /** For code that knows where the error comes from and has dealt with it. */
  claim(): void {
    this.claimed = true
  }
}

/** True when a listener knows the origin of the error and has dealt with it; otherwise it is a bug of Hermes. */
export function isClaimed(error: unknown): boolean {
  const uncaught = new UncaughtError(error)
  channel(CHANNEL).publish(uncaught)
  return uncaught.isClaimed
}

/** Calls the listener, in the asynchronous context of the error, until the returned function is called. */
export function onUncaughtError(listener: (uncaught: UncaughtError) => void): () => void {
  const receive = (message: unknown): void => {
    if (message instanceof UncaughtError && !message.isClaimed) listener(message)
  }
  subscribe(CHANNEL, receive)
  return () => {
    unsubscribe(CHANNEL, receive)
  }
}
