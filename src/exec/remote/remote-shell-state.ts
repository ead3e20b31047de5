import { posix } from "node:path"

import { COMMAND_VARIABLE } from "../process-tree.ts"
import { createStateFiles } from "../shell-state-files.ts"
import { cwdMarker } from "../shell-state-marker.ts"
import { snapshotScript, statefulScript } from "../shell-state.ts"
import { askScript } from "./transport.ts"
import type { ScriptAnswer, Transport } from "./transport.ts"

export interface RemoteShellStateOptions {
  readonly transport: Transport
  readonly cwd: string
  readonly shell: string
  /** Over there; need not exist yet. */
  readonly directory: string
  /** Sourced once, before the first command of the conversation. */
  readonly startupFiles: readonly string[]
  /** False: every command starts from the same state and directory. */
  readonly persistent: boolean
  readonly signal: AbortSignal
}

/** One command of the conversation. */
interface StateOfCommand {
  readonly cwd: string
  readonly commandLine: readonly string[]
  readonly marker: string | undefined
  /** To be called once, when the command has ended, with the directory it reported. */
  finish(reached: string | undefined): void
}

const SNAPSHOT_TIMEOUT_MS = 30_000

/** The directory, variables, functions and aliases of the conversation, in another place: its files are over there. */
export function createRemoteShellState(options: RemoteShellStateOptions) {
  const kind = options.shell.endsWith("/bash") ? "bash" : "sh"
  const files = createStateFiles(options.directory)
  const marker = cwdMarker(posix.basename(options.directory))
  let cwd = options.cwd
  let ready: Promise<void> | undefined

  const takeSnapshot = async (): Promise<void> => {
    if (kind !== "bash" || options.startupFiles.length === 0) return
    const turn = files.begin()
    const answer = await askSnapshot(SNAPSHOT_SCRIPT, turn.to, true)
    if (answer.kind === "answered" && answer.code === 0) turn.adopt()
    turn.release()
  }
  const askSnapshot = async (script: string, to: string, mayReopen: boolean): Promise<ScriptAnswer> =>
    await askScript(
      options.transport,
      {
        script,
        args: [options.directory, to, ...commandLine(snapshotScript({ files: options.startupFiles, to, fixed: {} }))],
      },
      { signal: options.signal, timeoutMs: SNAPSHOT_TIMEOUT_MS, mayReopen },
    )
  const commandLine = (script: string): readonly string[] =>
    kind === "bash" ? [options.shell, "--noprofile", "--norc", "-c", script] : [options.shell, "-c", script]

  return {
    cwd: () => cwd,
    /** Reads the start-up files before the first command. Never rejects. */
    prepare: async (): Promise<void> => {
      await (ready ??= takeSnapshot())
    },
    /**
     * The place was brought back. Where the state went with it, the start-up files are read again, into the file that a command which is
     * about to be tried once more starts from. True when something was lost.
     */
    restore: async (): Promise<boolean> => {
      const current = files.current()
      if (kind !== "bash" || current === undefined) return false
      const answer = await askSnapshot(`${STILL_THERE}\n${SNAPSHOT_SCRIPT}`, current, false)
      return answer.kind === "answered" && answer.code !== STATE_IS_THERE
    },
    /** A command that sees nothing of the state. */
    plain: commandLine,
    /** A command that leaves its state. It is started in its directory, so the script stays there. */
    begin: (command: string, wanted: string | undefined, tag: string): StateOfCommand => {
      const turn = files.begin()
      const script = statefulScript({
        command,
        shell: kind,
        cwd: ".",
        from: turn.from,
        ...(options.persistent && { to: turn.to, marker }),
        variables: { [COMMAND_VARIABLE]: tag },
      })
      return {
        cwd: wanted ?? cwd,
        commandLine: commandLine(script),
        marker: options.persistent ? marker : undefined,
        finish: (reached) => {
          if (reached !== undefined) {
            turn.adopt()
            // A directory given for one command is not where the conversation is, unless the command itself moved on.
            if (wanted === undefined || reached !== wanted) cwd = reached
          }
          turn.release()
        },
      }
    },
    /** A command beside the conversation: it starts from the state and leaves none. */
    look: (command: string, wanted: string | undefined, tag: string): Pick<StateOfCommand, "cwd" | "commandLine"> => ({
      cwd: wanted ?? cwd,
      commandLine: commandLine(
        statefulScript({
          command,
          shell: kind,
          cwd: ".",
          from: files.current(),
          variables: { [COMMAND_VARIABLE]: tag },
        }),
      ),
    }),
  }
}

const STATE_IS_THERE = 41
const STILL_THERE = `[ ! -s "$2" ] || exit ${STATE_IS_THERE}`

/** `$1` the directory of the state, `$2` the file the snapshot goes to, then the command that takes it. */
const SNAPSHOT_SCRIPT = `[ -d "$1" ] || mkdir -p -m 700 -- "$1" || exit 40
to=$2; shift 2
"$@" </dev/null >/dev/null 2>&1
[ -s "$to.cwd" ] || exit 40`
