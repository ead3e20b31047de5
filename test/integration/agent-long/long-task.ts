import { seededRandom } from "../../support/seeded-random.ts"
import type { ReplyTurn, ScriptedCall } from "../../support/model-server/turn.ts"

/**
 * A long autonomous task shaped like the work of coding agents: mostly reads and searches, builds with long logs, small edits, some
 * errors and parallel calls. There are many small results and a few that alone would fill a small window.
 */
export interface LongTask {
  /** The project it works in. */
  readonly files: Readonly<Record<string, string>>
  /** The replies of the model, one per round. */
  readonly rounds: readonly Omit<ReplyTurn, "kind">[]
}

const FILES = 36

export function makeLongTask(seed: number, rounds: number): LongTask {
  const random = seededRandom(seed)
  const dice: Dice = {
    random,
    between: (low, high) => low + Math.floor(random() * (high - low + 1)),
    skewed: (low, high) => low + Math.floor(random() ** 3 * (high - low + 1)),
  }
  const sizes = Array.from({ length: FILES }, () => dice.skewed(60, 1400))
  const project: Project = { sizes, versions: sizes.map(() => 0) }
  return {
    files: Object.fromEntries(sizes.map((lines, file) => [pathOf(file), sourceText(file, lines)])),
    rounds: Array.from({ length: rounds }, (_, round) => makeRound(round, { dice, project })),
  }
}

interface Dice {
  readonly random: () => number
  between(low: number, high: number): number
  /** Mostly near `low`. */
  skewed(low: number, high: number): number
}

interface Project {
  readonly sizes: readonly number[]
  /** How often each file was edited. */
  readonly versions: number[]
}

interface Making {
  readonly dice: Dice
  readonly project: Project
}

function pathOf(file: number): string {
  return `src/area-${file % 6}/module-${file}.ts`
}

function sourceText(file: number, lines: number, version = 0): string {
  const body = Array.from({ length: lines }, (_, line) =>
    line % 9 === 0
      ? `export function step_${file}_${line}(input: Item): Item { // part "${line % 7}"`
      : `  const value${line} = combine(input.field${(line * 7 + file) % 23}, "name-${(line * 31) % 97}")`,
  )
  return [`export const VERSION_${file} = ${version}`, ...body].join("\n")
}

function makeRound(round: number, making: Making): Omit<ReplyTurn, "kind"> {
  const { dice } = making
  const calls =
    dice.random() < 0.1
      ? Array.from({ length: dice.between(2, 4) }, () => (dice.random() < 0.6 ? read(making) : search(making)))
      : [pickWork(making)]
  return {
    ...(dice.random() < 0.3
      ? { text: `Round ${round}: ${"looking at the next part of it. ".repeat(dice.skewed(1, 9))}` }
      : {}),
    ...(dice.random() < 0.4
      ? { reasoning: "I should check how this is used before I change it. ".repeat(dice.skewed(1, 30)) }
      : {}),
    calls: calls.map((call, at) => ({ ...call, id: `call_${round}_${at}` })),
  }
}

type Work = (making: Making) => ScriptedCall

const WORK: readonly (readonly [share: number, Work])[] = [
  [0.34, read],
  [0.16, search],
  [0.14, shortCommand],
  [0.1, build],
  [0.06, failingTests],
  [0.12, edit],
  [0.03, write],
  [0.05, mistake],
]

function pickWork(making: Making): ScriptedCall {
  let left = making.dice.random()
  for (const [share, work] of WORK) {
    left -= share
    if (left < 0) return work(making)
  }
  return read(making)
}

function read({ dice, project }: Making): ScriptedCall {
  const file = dice.between(0, FILES - 1)
  const offset = dice.between(1, Math.max(1, (project.sizes[file] ?? 1) - 40))
  return { name: "read_file", input: { path: pathOf(file), offset, limit: dice.skewed(40, 900) } }
}

function search({ dice }: Making): ScriptedCall {
  const pattern = `name-${dice.between(0, 96)}"`
  return {
    name: "search_files",
    input: { pattern, path: `src/area-${dice.between(0, 5)}`, limit: dice.skewed(10, 80), context: dice.skewed(0, 3) },
  }
}

function shortCommand({ dice }: Making): ScriptedCall {
  return terminal(`wc -l src/area-${dice.between(0, 5)}/*.ts; echo "checked ${dice.between(1, 9999)}"`)
}

function build({ dice }: Making): ScriptedCall {
  const modules = dice.skewed(20, 600)
  return terminal(
    `i=0; while [ $i -lt ${modules} ]; do i=$((i+1)); echo "[build ${dice.between(1, 9999)}] module $i of ${modules}: ok, 0 warnings"; done`,
  )
}

function failingTests({ dice }: Making): ScriptedCall {
  const failed = dice.skewed(1, 40)
  return terminal(
    `i=0; while [ $i -lt ${failed} ]; do i=$((i+1)); echo "FAIL case $i of run ${dice.between(1, 9999)}: expected 4 but was 5"; echo "    at check (src/area-1/module-7.ts:$i:12)"; done; exit 1`,
  )
}

function edit({ dice, project }: Making): ScriptedCall {
  const file = dice.between(0, FILES - 1)
  const version = (project.versions[file] ?? 0) + 1
  project.versions[file] = version
  return {
    name: "write_file",
    input: { path: `src/area-${file % 6}/part-${file}.ts`, content: sourceText(file, dice.skewed(8, 60), version) },
  }
}

function write({ dice }: Making): ScriptedCall {
  const name = dice.between(1, 9999)
  const content = Array.from({ length: dice.skewed(10, 150) }, (_, line) => `- note ${name}.${line}: this part is done`)
  return { name: "write_file", input: { path: `notes/${name}.md`, content: content.join("\n") } }
}

function mistake({ dice }: Making): ScriptedCall {
  const word = dice.between(1, 9999)
  const choices: readonly ScriptedCall[] = [
    { name: "read_file", input: { path: `src/area-9/module-${word}.ts` } },
    terminal(`no-such-program-${word} --run`),
    { name: "write_file", input: { path: `${pathOf(0)}/${word}.md`, content: "x" } },
  ]
  return choices[word % choices.length] ?? terminal("false")
}

function terminal(command: string): ScriptedCall {
  return { name: "terminal", input: { command } }
}
