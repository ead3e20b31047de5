import { spawn } from "node:child_process"
import { once } from "node:events"

export interface Command {
  readonly argv: readonly [string, ...string[]]
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

export interface TimedRun {
  readonly wallMs: number
  /** Milliseconds since the epoch, to compare with the times of the model server. */
  readonly startedAt: number
  readonly stdout: string
}

/**
 * Runs all sides alternately, so that other load on the machine affects each of them, and reverses the order every round. The
 * first rounds fill caches and do not count.
 */
export async function runAlternately<Side extends string, T>(
  rounds: number,
  work: Readonly<Record<Side, () => Promise<T>>>,
): Promise<Readonly<Record<Side, readonly T[]>>> {
  const sides = Object.keys(work) as Side[]
  const found = Object.fromEntries(sides.map((side) => [side, []])) as unknown as Record<Side, T[]>
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const result = await work[side]()
      if (round >= 0) found[side].push(result)
    }
  }
  return found
}

const WARM_UP_ROUNDS = 2

/** Measures the wall time from before the spawn to the exit, with standard input from /dev/null. Throws when the command fails. */
export async function timeCommand({ argv, env, cwd }: Command): Promise<TimedRun> {
  const [program, ...args] = argv
  const startedAt = Date.now()
  const started = performance.now()
  const child = spawn(program, args, { env: { ...env }, cwd, stdio: ["ignore", "pipe", "pipe"] })
  let ended = started
  child.once("exit", () => {
    ended = performance.now()
  })
  const output = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text
    })
  }
  const [code] = (await once(child, "close")) as [number | null]
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}:\n${output.stderr}${output.stdout}`)
  return { wallMs: ended - started, startedAt, stdout: output.stdout }
}
