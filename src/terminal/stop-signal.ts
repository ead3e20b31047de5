/** A signal ended the run before its answer. */
export const EXIT_INTERRUPTED = 130
/** The terminal of a conversation was closed: 128 + SIGHUP. */
export const EXIT_HANGUP = 129

/** The abort reason of an invocation's signal. */
export class StoppedBySignal extends DOMException {
  readonly signalName: NodeJS.Signals

  constructor(signalName: NodeJS.Signals) {
    super(`stopped by ${signalName}`, "AbortError")
    this.signalName = signalName
  }
}

export function isHangup(signal: AbortSignal): boolean {
  return signal.reason instanceof StoppedBySignal && signal.reason.signalName === "SIGHUP"
}

/**
 * Handles the end of the terminal like SIGHUP, which the kernel does not always send, for example to a process that has left its
 * session. Synchronous: with its input gone, the process could exit before a signal arrives.
 */
export function raiseHangup(): void {
  process.emit("SIGHUP", "SIGHUP")
}
