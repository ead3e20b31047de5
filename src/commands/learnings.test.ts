import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { createLearningsStore } from "../knowledge/learnings/learnings-store.ts"
import { learningsCommand } from "./learnings.ts"
import type { SlashContext } from "./slash-command.ts"

async function said(argument: string, path: string): Promise<string> {
  const clock = { now: () => 1_000_000, sleep: () => Promise.resolve() }
  const command = learningsCommand(() => createLearningsStore({ path, clock, redact: (text) => text }))
  const outcome = await command.run(argument, {} as SlashContext)
  return outcome.kind === "say" ? outcome.text : outcome.kind
}

const entry = (id: string, more: object = {}): string =>
  JSON.stringify({ id, pattern: `pattern\nof ${id}`, fix: "do this", created_at: 1, ...more })

test("lists what is there and takes one out", async () => {
  await using place = await temporaryHome({
    files: {
      "learnings.jsonl": [
        entry("a1", { times_used: 2, source: "auto" }),
        entry("b2", { created_at: 5, times_used: 1 }),
      ].join("\n"),
    },
  })
  const path = join(place.path, "learnings.jsonl")
  expect(await said("", path)).toBe(
    [
      "b2  pattern of b2 (used once)",
      "    → do this",
      "a1  pattern of a1 (used 2 times) (noticed)",
      "    → do this",
      "Take one out with /learnings remove ID.",
    ].join("\n"),
  )
  expect(await said("remove learning:b2", path)).toBe("Removed b2: pattern of b2")
  expect(await said("remove b2", path)).toBe("there is no learning b2.")
  expect((await said("list", path)).split("\n")).toHaveLength(3)
})

test.each(["remove", "remove a b", "show", "list all"])("/learnings %s tells the forms", async (argument) => {
  expect(await said(argument, "/nowhere/learnings.jsonl")).toBe("Use /learnings, or /learnings remove ID.")
})

test("an empty, a long and an unreadable list", async () => {
  await using place = await temporaryHome({
    files: { many: Array.from({ length: 33 }, (_, index) => entry(`e${index}`)).join("\n") },
  })
  expect(await said("", join(place.path, "none"))).toBe("Nothing has been learned from errors yet.")
  expect((await said("", join(place.path, "many"))).split("\n").at(-2)).toBe("3 older ones are not shown.")
  expect(await said("", place.path)).toContain("the learnings cannot be read: ")
})
