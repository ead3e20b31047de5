import { expect, test } from "vitest"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { createGuardrails, guardrailLine } from "./guardrails.ts"
import type { GuardedCall, GuardedResult, GuardrailSettings, Guardrails, GuardrailVerdict } from "./guardrails.ts"

const SETTINGS: GuardrailSettings = {
  warningsEnabled: true,
  hardStopEnabled: false,
  warnAfter: { exactFailure: 2, sameToolFailure: 3, idempotentNoProgress: 2 },
  hardStopAfter: { exactFailure: 5, sameToolFailure: 8, idempotentNoProgress: 5 },
}
const make = (more: Partial<GuardrailSettings> = {}, attended = true): Guardrails =>
  createGuardrails({ ...SETTINGS, ...more, attended: () => attended })

type Step = readonly [call: GuardedCall, result: GuardedResult]
const call = (tool: string, args: unknown = {}, idempotent = false): GuardedCall => ({ tool, args, idempotent })
const resultOf = (content: Record<string, unknown>, more: Partial<GuardedResult> = {}): GuardedResult => ({
  content,
  text: JSON.stringify(content),
  ...more,
})
const FAILED = resultOf({ error: "no" })
const FINE = resultOf({ text: "yes" })
const read = (args: unknown = { path: "a" }): GuardedCall => call("read_file", args, true)
const times = (count: number, step: (index: number) => Step): readonly Step[] =>
  Array.from({ length: count }, (_, index) => step(index))

/** The verdict on each call: after it ran, or instead of running it. */
function play(guardrails: Guardrails, steps: readonly Step[]): readonly string[] {
  return steps.map(([made, result]) => {
    const before = guardrails.before(made)
    return before.action === "allow" ? shown(guardrails.after(made, result)) : `not run: ${shown(before)}`
  })
}

function shown(verdict: GuardrailVerdict): string {
  return verdict.action === "allow" ? "allow" : `${verdict.action} ${verdict.code} ${verdict.count}`
}

const exact = (count: number): string => `warn repeated_exact_failure_warning ${count}`
const sameTool = (count: number): string => `warn same_tool_failure_warning ${count}`
const noProgress = (count: number): string => `warn idempotent_no_progress_warning ${count}`
const HARD = { hardStopEnabled: true }

const SEQUENCES: readonly (readonly [string, Guardrails, readonly Step[], readonly string[]])[] = [
  ["the same failing call", make(), times(4, () => [call("t"), FAILED]), ["allow", exact(2), exact(3), exact(4)]],
  [
    "the same failing call, hard stop on: the sixth is not run",
    make(HARD),
    times(6, () => [call("t"), FAILED]),
    ["allow", exact(2), exact(3), exact(4), exact(5), "not run: block repeated_exact_failure_block 5"],
  ],
  [
    "one tool fails with different arguments",
    make(),
    times(3, (n) => [call("t", { n }), FAILED]),
    ["allow", "allow", sameTool(3)],
  ],
  [
    "one tool fails with different arguments, hard stop on",
    make(HARD),
    times(8, (n) => [call("t", { n }), FAILED]),
    ["allow", "allow", ...[3, 4, 5, 6, 7].map(sameTool), "halt same_tool_failure_halt 8"],
  ],
  ["a read returns the same result again", make(), times(2, () => [read(), FINE]), ["allow", noProgress(2)]],
  [
    "a read returns the same result again, hard stop on: the sixth is not run",
    make(HARD),
    times(6, () => [read(), FINE]),
    ["allow", ...[2, 3, 4, 5].map(noProgress), "not run: block idempotent_no_progress_block 5"],
  ],
  [
    "a read returns something new in between",
    make(),
    [
      [read(), FINE],
      [read(), resultOf({ text: "other" })],
      [read(), resultOf({ text: "other" })],
    ],
    ["allow", "allow", noProgress(2)],
  ],
  [
    "a read fails in between",
    make(),
    [
      [read(), FINE],
      [read(), FAILED],
      [read(), FINE],
    ],
    ["allow", "allow", "allow"],
  ],
  [
    "fail, success, fail",
    make(),
    [
      [call("t"), FAILED],
      [call("t"), FINE],
      [call("t"), FAILED],
    ],
    ["allow", "allow", "allow"],
  ],
  [
    "a success with other arguments clears the count of the tool",
    make(),
    [
      [call("t", { n: 1 }), FAILED],
      [call("t", { n: 2 }), FAILED],
      [call("t", { n: 3 }), FINE],
      [call("t", { n: 4 }), FAILED],
    ],
    ["allow", "allow", "allow", "allow"],
  ],
  [
    "a command that succeeds may be repeated",
    make(HARD),
    times(10, () => [call("terminal", { command: "true" }), resultOf({ output: "", exit_code: 0, error: null })]),
    Array.from({ length: 10 }, () => "allow"),
  ],
  [
    "the order of argument names does not matter",
    make(),
    [
      [call("t", { a: 1, b: { c: 2, d: 3 } }), FAILED],
      [call("t", { b: { d: 3, c: 2 }, a: 1 }), FAILED],
    ],
    ["allow", exact(2)],
  ],
  [
    "the order of names in a result does not matter",
    make(),
    [
      [read(), resultOf({ a: 1, b: 2 })],
      [read(), resultOf({ b: 2, a: 1 })],
    ],
    ["allow", noProgress(2)],
  ],
  [
    "warnings off, hard stop off",
    make({ warningsEnabled: false }),
    times(10, () => [call("t"), FAILED]),
    Array.from({ length: 10 }, () => "allow"),
  ],
  [
    "numbers that are not positive mean the defaults",
    make({
      ...HARD,
      warnAfter: { exactFailure: 0, sameToolFailure: -1, idempotentNoProgress: Number.NaN },
      hardStopAfter: { exactFailure: 0, sameToolFailure: 0, idempotentNoProgress: 0 },
    }),
    times(6, () => [call("t"), FAILED]),
    ["allow", exact(2), exact(3), exact(4), exact(5), "not run: block repeated_exact_failure_block 5"],
  ],
  [
    "unattended: the third identical failing call is not run, with everything off",
    make({ warningsEnabled: false }, false),
    times(3, () => [call("t"), FAILED]),
    ["allow", "allow", "not run: block repeated_exact_failure_block 2"],
  ],
  [
    "unattended: other failing calls and repeated reads continue",
    make({ warningsEnabled: false }, false),
    [...times(9, (n): Step => [call("t", { n }), FAILED]), ...times(9, (): Step => [read(), FINE])],
    Array.from({ length: 18 }, () => "allow"),
  ],
  [
    "unattended: a stricter setting wins",
    make({ ...HARD, hardStopAfter: { ...SETTINGS.hardStopAfter, exactFailure: 1 } }, false),
    times(2, () => [call("t"), FAILED]),
    ["allow", "not run: block repeated_exact_failure_block 1"],
  ],
]

test.each(SEQUENCES)("%s", (_name, guardrails, steps, expected) => {
  expect(play(guardrails, steps)).toEqual(expected)
})

test.each<readonly [string, GuardedResult, boolean]>([
  ["an error", resultOf({ error: "no" }), true],
  ["something that failed", resultOf({ status: "failed" }), true],
  ["text that begins with Error", { content: { a: 1 }, text: "Error: no" }, true],
  ["quoted words in output", resultOf({ text: 'they wrote "error" and "failed"' }), false],
  ["an error after 500 characters", resultOf({ text: "x".repeat(500), error: "no" }), false],
  ["a command that failed", resultOf({ output: "", exit_code: 2, error: null }), true],
  ["a command that failed, by `exitCode` next to the content", resultOf({ output: "" }, { exitCode: 1 }), true],
  ["a command that prints errors and succeeds", resultOf({ exit_code: 0, error: "a warning" }), false],
  ["a successful write", resultOf({ error: "the linter complains" }, { filesChanged: ["/w/a"] }), false],
  ["a write that changed nothing", resultOf({ error: "no" }, { filesChanged: [] }), true],
])("%s is a failure or not", (_name, result, failed) => {
  const [, second] = play(
    make(),
    times(2, () => [call("t"), result]),
  )
  expect(second === "allow").toBe(!failed)
})

test("a decision names the call, and the first that stops the turn is kept until the next turn", () => {
  const guardrails = make({}, false)
  const args = { b: "ü", a: 1 }
  play(
    guardrails,
    times(2, () => [call("t", args), FAILED]),
  )
  expect(guardrails.halted()).toBeUndefined()
  const blocked = guardrails.before(call("t", args))
  expect(blocked).toEqual({
    action: "block",
    code: "repeated_exact_failure_block",
    message: "t was not run again: it has failed 2 times in this turn with the same arguments.",
    tool_name: "t",
    count: 2,
    signature: { tool_name: "t", args_hash: sha256Hex('{"a":1,"b":"ü"}') },
  })
  play(
    guardrails,
    times(3, () => [call("other"), FAILED]),
  )
  expect(guardrails.halted()).toBe(blocked)
  guardrails.beginTurn()
  expect([guardrails.halted(), play(guardrails, [[call("t", args), FAILED]])]).toEqual([undefined, ["allow"]])
})

test("the line below a result names the kind of stop and advises on commands", () => {
  const guardrails = make(HARD)
  const lines = times(8, (n): Step => [call("terminal", { n }), resultOf({ exit_code: 1 })]).flatMap(
    ([made, result]) => {
      const verdict = guardrails.after(made, result)
      return verdict.action === "allow" ? [] : [guardrailLine(verdict)]
    },
  )
  expect([lines[0], lines.at(-1)]).toEqual([
    "[Tool loop warning: same_tool_failure_warning; count=3; terminal has failed 3 times in this turn. Find out why first, then continue with other arguments or another tool. `pwd; ls -la` shows where you are and what is there, `command -v NAME` whether a program is installed.]",
    "[Tool loop hard stop: same_tool_failure_halt; count=8; terminal has failed 8 times in this turn, so the turn was stopped.]",
  ])
})
