import { posix } from "node:path"

import { lazy } from "../../base/lazy.ts"
import { cwdMarker } from "../cwd-marker.ts"
import { COMMAND_VARIABLE } from "../process-tree.ts"
import { createStateFiles } from "../shell-state-files.ts"
import { snapshotScript, statefulScript } from "../shell-state.ts"
import { runScript } from "./transport.ts"
import type { ScriptResult, Transport } from "./transport.ts"

export interface RemoteShellStateOptions {
  readonly transport: Transport
  readonly cwd: string
  readonly shell: string
  /** Remote directory for the state files; need not exist yet. */
  readonly directory: string
  /** Sourced once, before the first command of the conversation. */
  readonly startupFiles: readonly string[]
  /** False: every command starts with the same state and directory. */
  readonly persistent: boolean
  readonly signal: AbortSignal
}

/** How to run one command of the conversation. */
interface RemoteCommandState {
  readonly cwd: string
  readonly commandLine: readonly string[]
  readonly marker: string | undefined
  /** Call it once, after the command has ended, with its final directory; undefined discards the state that it left. */
  readonly finish: (reached: string | undefined) => void
}

const SNAPSHOT_TIMEOUT_MS = 30_000

/** Keeps the directory, variables, functions and aliases of the conversation in files of the remote workspace. */
export function createRemoteShellState(options: RemoteShellStateOptions) {
  const shellKind = options.shell.endsWith("/bash") ? "bash" : "sh"
  const files = createStateFiles(options.directory)
  const marker = cwdMarker(posix.basename(options.directory))
  let cwd = options.cwd

  const takeSnapshot = async (): Promise<void> => {
    if (shellKind !== "bash" || options.startupFiles.length === 0) return
    const commandFiles = files.begin()
    const result = await runSnapshotScript(SNAPSHOT_SCRIPT, commandFiles.to, true)
    if (result.kind === "completed" && result.code === 0) commandFiles.commit()
    commandFiles.release()
  }
  const runSnapshotScript = async (script: string, to: string, mayReopen: boolean): Promise<ScriptResult> =>
    await runScript(
      options.transport,
      {
        script,
        args: [options.directory, to, ...commandLine(snapshotScript({ files: options.startupFiles, to }))],
      },
      { signal: options.signal, timeoutMs: SNAPSHOT_TIMEOUT_MS, mayReopen },
    )
  const commandLine = (script: string): readonly string[] =>
    shellKind === "bash" ? [options.shell, "--noprofile", "--norc", "-c", script] : [options.shell, "-c", script]

  return {
    cwd: () => cwd,
    /** Sources the start-up files before the first command. Never rejects. */
    prepare: lazy(takeSnapshot),
    /**
     * Call it after the workspace was reopened. If the state files were lost, sources the start-up files again, into the file that the
     * retried command starts from. Returns whether state was lost.
     */
    restore: async (): Promise<boolean> => {
      const current = files.current()
      if (shellKind !== "bash" || current === undefined) return false
      const result = await runSnapshotScript(`${SKIP_IF_STATE_EXISTS}\n${SNAPSHOT_SCRIPT}`, current, false)
      return result.kind === "completed" && result.code !== STATE_EXISTS
    },
    /** For a command that sees none of the state. */
    stateless: commandLine,
    /** For a command that leaves its state to the next one. The transport starts it in `cwd`, so the script stays in `.`. */
    beginCommand: (command: string, requestedCwd: string | undefined, tag: string): RemoteCommandState => {
      const commandFiles = files.begin()
      const script = statefulScript({
        command,
        shell: shellKind,
        cwd: ".",
        from: commandFiles.from,
        ...(options.persistent && { to: commandFiles.to, marker }),
        variables: { [COMMAND_VARIABLE]: tag },
      })
      return {
        cwd: requestedCwd ?? cwd,
        commandLine: commandLine(script),
        marker: options.persistent ? marker : undefined,
        finish: (reached) => {
          if (reached !== undefined) {
            commandFiles.commit()
            // A directory requested for one command does not move the conversation, unless the command itself changed it.
            if (requestedCwd === undefined || reached !== requestedCwd) cwd = reached
          }
          commandFiles.release()
        },
      }
    },
    /** For a background command: starts from the state and leaves none. */
    beginBackground: (
      command: string,
      requestedCwd: string | undefined,
      tag: string,
    ): Pick<RemoteCommandState, "cwd" | "commandLine"> => ({
      cwd: requestedCwd ?? cwd,
      commandLine: commandLine(
        statefulScript({
          command,
          shell: shellKind,
          cwd: ".",
          from: files.current(),
          variables: { [COMMAND_VARIABLE]: tag },
        }),
      ),
    }),
  }
}

const STATE_EXISTS = 41
const SKIP_IF_STATE_EXISTS = `[ ! -s "$2" ] || exit ${STATE_EXISTS}`

/** Arguments: `$1` state directory, `$2` state file for the snapshot, then the command line that takes it. */
const SNAPSHOT_SCRIPT = `[ -d "$1" ] || mkdir -p -m 700 -- "$1" || exit 40
to=$2; shift 2
"$@" </dev/null >/dev/null 2>&1
[ -s "$to.cwd" ] || exit 40`
