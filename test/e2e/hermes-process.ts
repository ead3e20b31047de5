import type { ModelServer } from "../support/model-server/server.ts"
import { hermesCommand, runProcess, startProcess } from "../support/process-driver.ts"
import type { ProcessResult, RunningProcess, RunOptions } from "../support/process-driver.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"

/**
 * Settings that send every request to the scripted server; `more` is further YAML. No side call asks for a title, so that a
 * script holds the turns of the conversation and nothing else.
 */
export function settingsFor(model: ModelServer, more = ""): string {
  const quiet = "auxiliary:\n  title_generation:\n    provider: none\n"
  return `model:\n  base_url: ${model.url}/v1\n  default: test-model\n${more}${quiet}`
}

/** Commands without the sandbox, in which process ids are others than outside and the home cannot be written. */
export const NO_WALLS = "terminal:\n  sandbox: off\n"

export type HermesOptions = Omit<Partial<RunOptions>, "command" | "args" | "env"> & {
  readonly env?: Readonly<Record<string, string>>
}

/** The built binary in this home and its working folder, to its end. */
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

/** What a user or script gets to see, without the time it took. */
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

/** The whole lines of `stream-json` output; what a kill cut in two is left out. */
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
