import { Socket } from "node:net"

import { signalGroup } from "../process-tree.ts"
import { RUN_PREPARED_COMMAND } from "../shell-state.ts"
import { ignoreClosedPipe, shellInvocation, startProcess } from "./local-command.ts"
import type { LocalShell, PrewarmedShell, StartedProcess } from "./local-command.ts"

/**
 * Starts a bash ahead of the command that it will run. It reads its script from stdin and exits at end of input, so it cannot outlive
 * Hermes, and it does not keep Hermes running. Returns undefined when it cannot be started, or only by blocking this process.
 */
export function startPrewarmedShell(options: LocalShell & { readonly mayBlock: boolean }): PrewarmedShell | undefined {
  const invocation = shellInvocation("", { ...options, script: () => READ_AND_RUN })
  let started: StartedProcess | undefined
  try {
    started = options.startInHelper?.({ ...invocation, cwd: options.cwd })
    if (options.mayBlock) started ??= startProcess(invocation, { ...options, stdin: "pipe" })
  } catch {
    // The command will be started without a prewarmed shell, which reports the reason.
  }
  return started === undefined ? undefined : waitingShell(started, invocation.commandId)
}

function waitingShell(started: StartedProcess, commandId: string): PrewarmedShell {
  const { child, output } = started
  let hasFailed = false
  const start = Promise.withResolvers<void>()
  child.once("error", () => {
    hasFailed = true
    start.resolve()
  })
  if (child.pid === undefined) child.once("start", start.resolve)
  else start.resolve()
  child.stdin?.on("error", ignoreClosedPipe)
  let hasStarted = false
  keepHermesRunning(started, false)
  return {
    child,
    output,
    commandId,
    started: start.promise,
    isAlive: () => !hasFailed && child.exitCode === null && child.signalCode === null && child.stdin?.writable === true,
    run: (script, stdin) => {
      keepHermesRunning(started, true)
      const text = `${RESET}${stdin === undefined ? "; exec </dev/null" : ""}; ${script}`
      child.stdin?.write(`${Buffer.byteLength(text)}\n${text}`)
      child.stdin?.end(stdin)
    },
    hasStarted: () => hasStarted,
    stripStartMarker: (chunk) => {
      if (hasStarted) return chunk
      hasStarted = true
      return chunk.subarray(START_MARKER.length)
    },
    discard: () => {
      child.unref()
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        signalGroup(child.pid, "SIGKILL")
      }
      // Also ends a shell whose process id is not known yet: it exits at the end of its input.
      for (const stream of [child.stdin, output, child.stderr]) stream?.destroy()
    },
  }
}

/** Printed when the whole script has arrived, before any of it runs. Without it, the command has not run. */
const START_MARKER = "."

/** The size is in bytes. On one line, so that line numbers in error messages are those of the command. */
const READ_AND_RUN = [
  "builtin read -r __hermes_size || builtin exit",
  `LC_ALL=C builtin read -r -N "$__hermes_size" __hermes_script || builtin exit`,
  `builtin printf ${START_MARKER} || builtin exit`,
  `builtin eval "$__hermes_script"`,
  RUN_PREPARED_COMMAND,
].join("; ")

/** Hides the waiting time and the variables of `READ_AND_RUN` from the command. */
const RESET = "unset -v __hermes_size __hermes_script; SECONDS=0"

function keepHermesRunning({ child, output }: StartedProcess, keep: boolean): void {
  for (const handle of [child, child.stdin, output, child.stderr]) {
    if (handle !== child && !(handle instanceof Socket)) continue
    if (keep) handle.ref()
    else handle.unref()
  }
}
