import { Socket } from "node:net"

import { createTreeKiller, signalGroup, startTokenOf } from "../process-tree.ts"
import type { TreeKiller } from "../process-tree.ts"
import {
  decodeInto,
  DRAIN_AFTER_EXIT_MS,
  exitCode,
  ignoreClosedPipe,
  notStarted,
  onceClosed,
  shellCall,
  startProcess,
  unusableDirectory,
} from "../local/local-command.ts"
import type { Ending, LocalShell, StartedProcess } from "../local/local-command.ts"
import type { BackgroundCommand } from "../workspace.ts"

export interface LocalBackground extends BackgroundCommand {
  /** Whether a command that has ended left something running in its process group. */
  hasLeftovers(): boolean
  /** SIGKILL to everything it started, without waiting. */
  abandon(): void
}

interface StartLocalOptions extends LocalShell {
  readonly onOutput: (text: string) => void
  readonly onErrorOutput?: (text: string) => void
}

/** A command that goes on beside the conversation, in a session of its own. It always starts: what went wrong is its `exit`. */
export function startPiped(command: string, options: StartLocalOptions): LocalBackground {
  const call = shellCall(command, options)
  const exit = Promise.withResolvers<Ending>()
  let started
  try {
    started = startProcess(call, { ...options, stdin: "pipe" })
  } catch (error) {
    // Some failures are thrown instead of being told by the child's "error" event.
    return neverStarted(notStarted(error, command, options))
  }
  const { child, output } = started
  const { pid, stdin, stderr } = child
  const { onErrorOutput } = options
  const flush =
    onErrorOutput === undefined
      ? decodeInto(started, options.onOutput)
      : decodeApart(started, { ...options, onErrorOutput })
  const killer = createTreeKiller(pid, call.commandId)
  const end = (ending: Ending): void => {
    flush()
    // What the command left behind may go on writing; it is read, so that it does not die of a full pipe, but keeps nobody waiting.
    for (const stream of [output, stderr]) if (stream instanceof Socket) stream.unref()
    stdin?.destroy()
    exit.resolve(ending)
  }
  stdin?.on("error", ignoreClosedPipe)
  child.once("error", (error) => {
    if (pid === undefined) end(notStarted(error, command, options))
  })
  child.once("exit", (code, signal) => {
    const ending: Ending = { how: "exited", code: exitCode(code, signal) }
    killer.finish()
    const draining = setTimeout(end, DRAIN_AFTER_EXIT_MS, ending)
    onceClosed(started, () => {
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
    ...endings(pid, {
      killer,
      exit: exit.promise,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    }),
  }
}

/** As `decodeInto`, with each stream for itself. */
function decodeApart(
  { child, output }: StartedProcess,
  hears: { readonly onOutput: (text: string) => void; readonly onErrorOutput: (text: string) => void },
): () => void {
  const flushes = [
    { stream: output, take: hears.onOutput },
    { stream: child.stderr, take: hears.onErrorOutput },
  ].map(({ stream, take }) => {
    const decoder = new TextDecoder("utf-8")
    stream?.on("data", (chunk: Buffer) => {
      take(decoder.decode(chunk, { stream: true }))
    })
    stream?.on("error", ignoreClosedPipe)
    return () => {
      take(decoder.decode())
    }
  })
  return () => {
    for (const flush of flushes) flush()
  }
}

const TERMINAL_SIZE = { cols: 120, rows: 30 }

/** The same in a terminal of its own; undefined where this machine cannot give one. */
export async function startInTerminal(
  command: string,
  options: StartLocalOptions,
): Promise<LocalBackground | undefined> {
  const pty = await loadPty()
  if (pty === undefined) return undefined
  const refused = unusableDirectory(options.cwd)
  if (refused !== undefined) return neverStarted({ how: "failed-to-start", code: -1, error: refused })
  const call = shellCall(command, options)
  let terminal
  try {
    terminal = pty.spawn(call.program, call.args, {
      ...TERMINAL_SIZE,
      name: "xterm-256color",
      cwd: options.cwd,
      env: call.environment,
    })
  } catch (error) {
    return neverStarted(notStarted(error, command, options))
  }
  const { pid } = terminal
  const killer = createTreeKiller(pid, call.commandId)
  const exit = Promise.withResolvers<Ending>()
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
    ...endings(pid, { killer, exit: exit.promise, hasEnded: () => ended }),
  }
}

/** Ctrl+D. */
const END_OF_INPUT = "\u0004"

async function loadPty() {
  try {
    return await import("@lydell/node-pty")
  } catch {
    // There is no build of it for this machine.
    return undefined
  }
}

/** The number of a process that has ended may belong to somebody else; only its group can still be its own. */
function endings(
  pid: number | undefined,
  {
    killer,
    exit,
    hasEnded,
  }: { readonly killer: TreeKiller; readonly exit: Promise<Ending>; readonly hasEnded: () => boolean },
): Pick<LocalBackground, "hasLeftovers" | "kill" | "abandon"> {
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
    abandon: () => {
      if (hasEnded()) killLeftovers()
      else killer.kill()
    },
  }
}

function neverStarted(ending: Ending): LocalBackground {
  return {
    pid: 0,
    startToken: "",
    isPty: false,
    exit: Promise.resolve(ending),
    write: () => false,
    closeInput: () => false,
    hasLeftovers: () => false,
    kill: () => Promise.resolve(),
    abandon: () => undefined,
  }
}
