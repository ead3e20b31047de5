import { expect, test } from "vitest"
import { INITIAL_SHELL_STATE, understandCommand } from "../shell/understand-command.ts"
import { keepsGitSettings } from "./git-settings.ts"

const FACTS = { userHome: "/home/alice" }

function keeps(line: string, before: readonly string[] = []): boolean {
  let state = INITIAL_SHELL_STATE("/w")
  for (const earlier of before) state = understandCommand(earlier, state, FACTS).after
  return keepsGitSettings(understandCommand(line, state, FACTS))
}

test("git may keep the upstream of a branch and harmless settings", () => {
  expect([keeps("git push -u origin main"), keeps("git config user.name Ada")]).toEqual([true, true])
})

test("after a file was sourced, git may be a function of that file", () => {
  expect(keeps("git config user.name Ada", ["source ./functions.sh"])).toBe(false)
  expect(keeps("git config user.name Ada", [". ./functions.sh", "ls"])).toBe(false)
  expect(keeps(". ./functions.sh && git config user.name Ada")).toBe(false)
})
