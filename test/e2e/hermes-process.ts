import type { ModelServer } from "../support/model-server/server.ts"
import { hermesCommand, runProcess, startProcess } from "../support/process-driver.ts"
import type { ProcessResult, RunningProcess, RunOptions } from "../support/process-driver.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"

/**
 * Settings that send every request to the scripted server; `more` is additional YAML. Title generation is off, so that a script
 * contains only the turns of the conversation.
 */
export function settingsFor(model: ModelServer, more = ""): string {
  const quiet = "auxiliary:\n  title_generation:\n    provider: none\n"
  return `model:\n  base_url: ${model.url}/v1\n  default: test-model\n${more}${quiet}`
}

/** Turns the sandbox off, in which process ids differ and the home is read-only. */
export const NO_SANDBOX = "terminal:\n  sandbox: off\n"

export type HermesOptions = Omit<Partial<RunOptions>, "command" | "args" | "env"> & {
  readonly env?: Readonly<Record<string, string>>
}

/** Runs the built command in this home and its working directory to the end. */
export async function hermes(
  home: TemporaryHome,
  args: readonly string[],
  options: HermesOptions = {},
): Promise<ProcessResult> {
  return await runProcess({ cwd: home.workdir, ...options, ...commandIn(home, args, options) })
}

export function startHermes(home: TemporaryHome, args: readonly string[], options: HermesOptions = {}): RunningProcess {
  return startProcess({ cwd: home.workdir, ...options, ...commandIn(home, args, options) })
}

/** The visible result of a process, without its duration. */
export async function outcomeOf(
  result: Promise<ProcessResult>,
): Promise<Pick<ProcessResult, "code" | "stdout" | "stderr">> {
  const { code, stdout, stderr } = await result
  return { code, stdout, stderr }
}

export interface StreamLine {
  readonly v: number
  readonly seq: number
  readonly ts: number
  readonly type: string
  readonly session_id: string
  readonly [field: string]: unknown
}

/** Parses the complete lines of `stream-json` output; a line that a kill has cut off is ignored. */
export function streamLines(stdout: string): readonly StreamLine[] {
  return stdout
    .slice(0, stdout.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as StreamLine)
}

function commandIn(home: TemporaryHome, args: readonly string[], options: HermesOptions) {
  return { command: hermesCommand(), args, env: { ...home.env, ...options.env } } as const
}
