import { readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { temporaryHome } from "../support/temporary-home.ts"
import { hermes } from "./hermes-process.ts"

interface Attack {
  readonly command: string
  readonly before?: readonly string[]
  readonly expect: "hard" | "stopped"
}

interface Answer {
  readonly decision: string
  readonly hard: boolean
}

function rows(name: string): readonly Attack[] {
  return readFileSync(new URL(`../fixtures/permissions/${name}`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Attack)
}

/** What `hermes permissions explain` answers for each line, in the profile `default`. */
async function explained(
  lines: readonly Pick<Attack, "command" | "before">[],
  sandbox: "on" | "off",
): Promise<readonly Answer[]> {
  await using home = await temporaryHome()
  const requests = lines.map(({ command, before }) => JSON.stringify({ command, before, cwd: "/w" }))
  const options = ["--sandbox", sandbox, "--cwd", "/w", "--permission-profile", "default", "--stdin"]
  const { stdout, code } = await hermes(home, ["permissions", "explain", ...options], {
    stdin: `${requests.join("\n")}\n`,
    env: { HOME: "/home/alice" },
  })
  expect(code).toBe(0)
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer)
  expect(answers).toHaveLength(lines.length)
  return answers
}

test("hermes permissions explain stops every attack line", { timeout: 60_000 }, async () => {
  const attacks = rows("attack-lines.jsonl")
  const answers = await explained(attacks, "off")
  const passed = attacks.filter(({ expect: expected }, index) => {
    const answer = answers[index]
    return expected === "hard" ? answer?.hard !== true : answer?.decision === "allow"
  })
  expect(passed.map(({ command }) => command)).toEqual([])
})

test("it asks about no everyday line, and in the sandbox only about the few that have to write protected files", async () => {
  const everyday = rows("everyday-lines.jsonl")
  const stopped = async (sandbox: "on" | "off"): Promise<readonly string[]> => {
    const answers = await explained(everyday, sandbox)
    return everyday.filter((_line, index) => answers[index]?.decision !== "allow").map(({ command }) => command)
  }
  expect(await stopped("off")).toEqual([])
  const inSandbox = await stopped("on")
  expect(inSandbox.filter((command) => !/husky|git submodule/u.test(command))).toEqual([])
  expect(inSandbox.length).toBeLessThan(everyday.length * 0.02)
}, 60_000)
