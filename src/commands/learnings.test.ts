import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { learningsCommand } from "./learnings.ts"
import type { SlashContext } from "./slash-command.ts"

/** Runs `/learnings` in a home whose `learnings.jsonl` is `path`. */
async function runLearnings(argument: string, path: string): Promise<string> {
  const app = {
    home: { file: () => path },
    clock: { now: () => 1_000_000, sleep: () => Promise.resolve() },
    redactor: { redact: (text: string) => text },
  }
  const outcome = await learningsCommand.run(argument, { app } as unknown as SlashContext)
  return outcome.kind === "reply" ? outcome.text : outcome.kind
}

const entry = (id: string, more: object = {}): string =>
  JSON.stringify({ id, pattern: `pattern\nof ${id}`, fix: "do this", created_at: 1, ...more })

test("lists the learnings and removes one", async () => {
  await using home = await temporaryHome({
    files: {
      "learnings.jsonl": [
        entry("a1", { times_used: 2, source: "auto" }),
        entry("b2", { created_at: 5, times_used: 1 }),
      ].join("\n"),
    },
  })
  const path = join(home.path, "learnings.jsonl")
  expect(await runLearnings("", path)).toBe(
    [
      "b2  pattern of b2 (used once)",
      "    → do this",
      "a1  pattern of a1 (used 2 times) (recorded automatically)",
      "    → do this",
      "Remove one with /learnings remove ID.",
    ].join("\n"),
  )
  expect(await runLearnings("remove learning:b2", path)).toBe("Removed b2: pattern of b2")
  expect(await runLearnings("remove b2", path)).toBe("There is no learning b2.")
  expect((await runLearnings("list", path)).split("\n")).toHaveLength(3)
})

test.each(["remove", "remove a b", "show", "list all"])("/learnings %s shows the usage", async (argument) => {
  expect(await runLearnings(argument, "/nowhere/learnings.jsonl")).toBe("Usage: /learnings, or /learnings remove ID.")
})

test("handles an empty, a long and an unreadable file", async () => {
  await using home = await temporaryHome({
    files: { many: Array.from({ length: 33 }, (_, index) => entry(`e${index}`)).join("\n") },
  })
  expect(await runLearnings("", join(home.path, "none"))).toBe("There are no learnings yet.")
  expect((await runLearnings("", join(home.path, "many"))).split("\n").at(-2)).toBe("3 older ones are not shown.")
  expect(await runLearnings("", home.path)).toContain("The learnings cannot be read: ")
})
