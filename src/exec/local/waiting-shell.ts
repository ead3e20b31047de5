import { Socket } from "node:net"

import { ignoreClosedPipe, shellCall, startProcess } from "./local-command.ts"
import type { LocalShell, StartedProcess, WaitingShell } from "./local-command.ts"
import { signalGroup } from "../process-tree.ts"
import { RUN_PREPARED } from "../shell-state.ts"

/**
 * Starts a bash ahead of the command that it is for. It waits for its script on its standard input and ends with it, so it cannot outlive
 * Hermes, and it does not keep Hermes from leaving. Undefined when it cannot be started.
 */
export function startWaitingShell(options: LocalShell): WaitingShell | undefined {
  const call = shellCall("", { ...options, script: () => WAIT })
  let started: StartedProcess
  try {
    started = startProcess(call, { ...options, stdin: "pipe" })
  } catch {
    // The command will be started in the usual way, which tells the reason.
    return undefined
  }
  const { child, output } = started
  child.on("error", () => undefined)
  child.stdin?.on("error", ignoreClosedPipe)
  let hasBegun = false
  hold(started, false)
  return {
    child,
    output,
    commandId: call.commandId,
    isWaiting: () =>
      child.pid !== undefined && child.exitCode === null && child.signalCode === null && child.stdin?.writable === true,
    begin: (script, stdin) => {
      hold(started, true)
      // A command without input finds none, as if it had been started so.
      const text = `${FORGET}${stdin === undefined ? "; exec </dev/null" : ""}; ${script}`
      child.stdin?.write(`${Buffer.byteLength(text)}\n${text}`)
      child.stdin?.end(stdin)
    },
    hasBegun: () => hasBegun,
    withoutMark: (chunk) => {
      if (hasBegun) return chunk
      hasBegun = true
      return chunk.subarray(MARK.length)
    },
    discard: () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        signalGroup(child.pid, "SIGKILL")
      }
      for (const stream of [child.stdin, output, child.stderr]) stream?.destroy()
    },
  }
}

/** Printed once the whole script is there, before anything of it runs: without it, nothing was done. */
const MARK = "."

/** The size counts bytes. On one line, so that line numbers in messages are those of the command. */
const WAIT = [
  "builtin read -r __hermes_size || builtin exit",
  `LC_ALL=C builtin read -r -N "$__hermes_size" __hermes_script || builtin exit`,
  `builtin printf ${MARK} || builtin exit`,
  `builtin eval "$__hermes_script"`,
  RUN_PREPARED,
].join("; ")

/** The time of waiting is not the command's. */
const FORGET = "unset -v __hermes_size __hermes_script; SECONDS=0"

/** Whether Hermes stays for this process. */
function hold({ child, output }: StartedProcess, isHeld: boolean): void {
  for (const handle of [child, child.stdin, output, child.stderr]) {
    if (handle !== child && !(handle instanceof Socket)) continue
    if (isHeld) handle.ref()
    else handle.unref()
  }
}
