import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { environmentFrom } from "../../src/config/environment.ts"
import { resolveHome, type Home } from "../../src/config/home.ts"
import type { CommandTree } from "../../src/cli/command.ts"
import { runCommandLine } from "../../src/cli/run-command-line.ts"
import type { Terminal } from "../../src/terminal/terminal.ts"

/** A terminal that records its output and answers questions from a list. Without answers it is not interactive. */
export function recordingTerminal(
  answers: readonly string[] = [],
): Terminal & { readonly output: () => { out: string; err: string } } {
  let out = ""
  let err = ""
  const remaining = [...answers]
  const interactive = answers.length > 0
  const ask = (question: string): Promise<string | undefined> => {
    err += question
    return Promise.resolve(interactive ? remaining.shift() : undefined)
  }
  return {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    line: (text = "") => void (out += `${text}\n`),
    errLine: (text) => void (err += `${text}\n`),
    styledLine: (text, stream = "stdout") => void (stream === "stdout" ? (out += `${text}\n`) : (err += `${text}\n`)),
    stdinIsTty: interactive,
    stdinIsPiped: false,
    stdoutIsTty: interactive,
    stderrIsTty: interactive,
    columns: 80,
    rows: 24,
    live: undefined,
    movesCursor: false,
    lend: () => () => undefined,
    onResize: () => () => undefined,
    onClose: () => undefined,
    color: false,
    closed: false,
    ask,
    confirm: async (question) => {
      if (!interactive) return undefined
      const answer = await ask(question)
      return answer === undefined ? undefined : /^y(es)?$/i.test(answer)
    },
    readStdin: () => Promise.resolve({ text: "", truncated: false, timedOut: false }),
    flush: () => Promise.resolve(),
    output: () => ({ out, err }),
  }
}

export interface CliHome extends Disposable {
  readonly directory: string
  readonly home: Home
  readonly variables: Readonly<Record<string, string>>
  /** Runs one command line in this home. */
  run(line: readonly string[], options?: CliRunOptions): Promise<{ code: number; out: string; err: string }>
}

export interface CliRunOptions {
  readonly answers?: readonly string[]
  readonly variables?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly tree?: CommandTree
}

/** Creates a user home with an empty Hermes home, in which command lines run in this process. Disposing deletes both. */
export function createCliHome(): CliHome {
  const directory = mkdtempSync(join(tmpdir(), "hermes-cli-"))
  const path = join(directory, ".hermes")
  mkdirSync(path, { mode: 0o700 })
  // Detecting a container would change the file modes.
  const variables = { HOME: directory, HERMES_HOME: path, PATH: "/usr/bin:/bin", TERM: "dumb", HERMES_CONTAINER: "0" }
  return {
    directory,
    home: resolveHome(environmentFrom(variables)),
    variables,
    run: async (line, options = {}) => {
      const terminal = recordingTerminal(options.answers)
      const code = await runCommandLine(line, {
        terminal,
        environment: environmentFrom({ ...variables, ...options.variables }),
        signal: options.signal ?? new AbortController().signal,
        ...(options.tree && { tree: options.tree }),
      })
      return { code, ...terminal.output() }
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}
