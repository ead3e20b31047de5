import { Socket } from "node:net"

import { createTreeKiller, lastingCommandId, signalGroup, startTokenOf } from "../process-tree.ts"
import type { TreeKiller } from "../process-tree.ts"
import {
  decodeOutput,
  DRAIN_AFTER_EXIT_MS,
  exitCode,
  ignoreClosedPipe,
  startFailure,
  onClosed,
  shellInvocation,
  startProcess,
  unusableDirectory,
} from "../local/local-command.ts"
import { noteOpenedTerminal } from "../local/inherited-descriptors.ts"
import type { LocalShell, StartedProcess } from "../local/local-command.ts"
import type { BackgroundCommand, ExitStatus } from "../workspace.ts"

export interface LocalBackgroundCommand extends BackgroundCommand {
  /** Whether processes of its group are still running after the command has exited. */
  hasLeftovers(): boolean
  /** Sends SIGKILL to everything the command started, without waiting. */
  killImmediately(): void
}

interface StartLocalOptions extends LocalShell {
  readonly onOutput: (text: string) => void
  readonly onErrorOutput?: (text: string) => void
}

/** Starts a background command in its own process session. Never throws: `exit` reports a command that could not be started. */
export function startPiped(command: string, options: StartLocalOptions): LocalBackgroundCommand {
  const call = shellInvocation(command, options, lastingCommandId())
  const exit = Promise.withResolvers<ExitStatus>()
  let started
  try {
    started = startProcess(call, { ...options, stdin: "pipe" })
  } catch (error) {
    // `spawn` throws some failures instead of emitting "error".
    return failedCommand(startFailure(error, command, options))
  }
  const { child, output } = started
  const { pid, stdin, stderr } = child
  const { onErrorOutput } = options
  const flush =
    onErrorOutput === undefined
      ? decodeOutput(started, options.onOutput)
      : decodeSeparately(started, { ...options, onErrorOutput })
  const killer = createTreeKiller(pid, call.commandId)
  const end = (ending: ExitStatus): void => {
    flush()
    // Leftover processes may continue to write: keep reading, so that the pipe does not fill up, but do not keep Hermes alive for it.
    for (const stream of [output, stderr]) if (stream instanceof Socket) stream.unref()
    stdin?.destroy()
    exit.resolve(ending)
  }
  stdin?.on("error", ignoreClosedPipe)
  child.once("error", (error) => {
    if (pid === undefined) end(startFailure(error, command, options))
  })
  child.once("exit", (code, signal) => {
    const ending: ExitStatus = { how: "exited", code: exitCode(code, signal) }
    killer.finish()
    const draining = setTimeout(end, DRAIN_AFTER_EXIT_MS, ending)
    onClosed(started, () => {
      clearTimeout(draining)
      end(ending)
    })
  })
  return {
    pid: pid ?? 0,
    startToken: pid === undefined ? "" : startTokenOf(pid),
    isPty: false,
    exit: exit.promise,
    write: (data) => {
      if (stdin?.writable !== true) return false
      stdin.write(data)
      return true
    },
    closeInput: () => {
      if (stdin?.writable !== true) return false
      stdin.end()
      return true
    },
    ...killMethods(pid, {
      killer,
      exit: exit.promise,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    }),
  }
}

/** Like `decodeOutput`, but passes standard output and standard error to separate callbacks. */
function decodeSeparately(
  { child, output }: StartedProcess,
  callbacks: { readonly onOutput: (text: string) => void; readonly onErrorOutput: (text: string) => void },
): () => void {
  const flushes = [
    { stream: output, onText: callbacks.onOutput },
    { stream: child.stderr, onText: callbacks.onErrorOutput },
  ].map(({ stream, onText }) => {
    const decoder = new TextDecoder("utf-8")
    stream?.on("data", (chunk: Buffer) => {
      onText(decoder.decode(chunk, { stream: true }))
    })
    stream?.on("error", ignoreClosedPipe)
    return () => {
      onText(decoder.decode())
    }
  })
  return () => {
    for (const flush of flushes) flush()
  }
}

const TERMINAL_SIZE = { cols: 120, rows: 30 }

/** Starts a background command in a pseudo-terminal. Resolves with undefined when this machine has no support for it. */
export async function startInTerminal(
  command: string,
  options: StartLocalOptions,
): Promise<LocalBackgroundCommand | undefined> {
  const pty = await loadPty()
  if (pty === undefined) return undefined
  const problem = unusableDirectory(options.cwd)
  if (problem !== undefined) return failedCommand({ how: "failed-to-start", code: -1, error: problem })
  const call = shellInvocation(command, options, lastingCommandId())
  let terminal
  try {
    noteOpenedTerminal()
    terminal = pty.spawn(call.program, call.args, {
      ...TERMINAL_SIZE,
      name: "xterm-256color",
      cwd: options.cwd,
      env: call.environment,
    })
  } catch (error) {
    return failedCommand(startFailure(error, command, options))
  }
  const { pid } = terminal
  const killer = createTreeKiller(pid, call.commandId)
  const exit = Promise.withResolvers<ExitStatus>()
  let ended = false
  terminal.onData(options.onOutput)
  terminal.onExit(({ exitCode: code, signal }) => {
    ended = true
    killer.finish()
    exit.resolve({ how: "exited", code: signal === undefined || signal === 0 ? code : 128 + signal })
  })
  const type = (data: string): boolean => {
    if (ended) return false
    terminal.write(data)
    return true
  }
  return {
    pid,
    startToken: startTokenOf(pid),
    isPty: true,
    exit: exit.promise,
    write: type,
    closeInput: () => type(END_OF_INPUT),
    ...killMethods(pid, { killer, exit: exit.promise, hasEnded: () => ended }),
  }
}

/** Ctrl+D. */
const END_OF_INPUT = "\u0004"

async function loadPty() {
  try {
    return await import("@lydell/node-pty")
  } catch {
    // There is no build of node-pty for this platform.
    return undefined
  }
}

/** After the exit the process id may be reused by another process, so only the process group may still be signalled. */
function killMethods(
  pid: number | undefined,
  {
    killer,
    exit,
    hasEnded,
  }: { readonly killer: TreeKiller; readonly exit: Promise<ExitStatus>; readonly hasEnded: () => boolean },
): Pick<LocalBackgroundCommand, "hasLeftovers" | "kill" | "killImmediately"> {
  let leftovers = false
  const settled = exit.then(() => {
    leftovers = pid !== undefined && signalGroup(pid, 0)
  })
  const killLeftovers = (): void => {
    if (leftovers && pid !== undefined) signalGroup(pid, "SIGKILL")
    leftovers = false
  }
  return {
    hasLeftovers: () => leftovers,
    kill: async () => {
      if (!hasEnded()) killer.terminate()
      await settled
      killLeftovers()
    },
    killImmediately: () => {
      if (hasEnded()) killLeftovers()
      else killer.kill()
    },
  }
}

function failedCommand(ending: ExitStatus): LocalBackgroundCommand {
  return {
    pid: 0,
    startToken: "",
    isPty: false,
    exit: Promise.resolve(ending),
    write: () => false,
    closeInput: () => false,
    hasLeftovers: () => false,
    kill: () => Promise.resolve(),
    killImmediately: () => undefined,
  }
}
