import { readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { temporaryHome } from "../support/temporary-home.ts"
import { hermes } from "./hermes-process.ts"

interface Attack {
  readonly command: string
  readonly before?: readonly string[]
  readonly expect: "hard" | "stopped"
}

const ATTACKS = readFileSync(new URL("../fixtures/permissions/attack-lines.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Attack)

test("hermes permissions explain stops every attack line", { timeout: 60_000 }, async () => {
  await using home = await temporaryHome()
  const requests = ATTACKS.map(({ command, before }) => JSON.stringify({ command, before, cwd: "/w" }))
  const args = [
    "permissions",
    "explain",
    "--sandbox",
    "off",
    "--cwd",
    "/w",
    "--permission-profile",
    "default",
    "--stdin",
  ]
  const env = { HOME: "/home/alice" }
  const { stdout, code } = await hermes(home, args, { stdin: `${requests.join("\n")}\n`, env })
  expect(code).toBe(0)
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly decision: string; readonly hard: boolean })
  expect(answers).toHaveLength(ATTACKS.length)
  const passed = ATTACKS.filter(({ expect: expected }, index) => {
    const answer = answers[index]
    return expected === "hard" ? answer?.hard !== true : answer?.decision === "allow"
  })
  expect(passed.map(({ command }) => command)).toEqual([])
})
