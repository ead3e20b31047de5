import { expect, test } from "vitest"

import { fail, ok } from "../base/result.ts"
import { rollbackCommand } from "./rollback.ts"
import type { SlashContext } from "./slash-command.ts"

const newest = {
  hash: "a".repeat(40),
  short: "aaaaaaaa",
  time: 1_800_000_000,
  reason: "terminal make",
  filesChanged: 2,
  insertions: 3,
  deletions: 1,
}
const USAGE =
  "Usage: /rollback, /rollback diff N [FILE], /rollback N or /rollback N FILE. N is a number from the list or the hash of a snapshot."
const oldest = { ...newest, hash: "b".repeat(40), short: "bbbbbbbb", reason: "write_file x", filesChanged: 0 }

interface Setup {
  readonly checkpoints?: object | undefined
  readonly enabled?: boolean
}

/** Runs `/rollback`; `calls` records what it does. */
async function runRollback(argument: string, setup: Setup = {}, calls: unknown[] = []): Promise<string> {
  const checkpoints = {
    root: () => "/w",
    otherRoots: () => [],
    list: () => Promise.resolve([newest, oldest]),
    diff: (hash: string, { file }: { readonly file?: string }) => {
      calls.push(["diff", hash, file])
      return Promise.resolve(ok({ text: "-a\n+\u001B[31mb\r\n", truncated: false, files: ["x"] }))
    },
    restore: (hash: string, { file }: { readonly file?: string }) => {
      calls.push(["restore", hash, file])
      if (file === "missing") return Promise.resolve(fail("the checkpoint does not contain missing"))
      return Promise.resolve(ok({ written: ["x"], removed: ["y"], notRestored: [], undoHash: "c".repeat(40) }))
    },
  }
  const context = {
    signal: new AbortController().signal,
    app: { config: { get: () => setup.enabled ?? true } },
    session: {
      checkpoints: () => Promise.resolve("checkpoints" in setup ? setup.checkpoints : checkpoints),
      undo: () => {
        calls.push(["undo"])
        return Promise.resolve("the last message")
      },
    },
  } as unknown as SlashContext
  const outcome = await rollbackCommand.run(argument, context)
  return outcome.kind === "reply" ? outcome.text : outcome.kind
}

test("lists the snapshots with their numbers", async () => {
  const lines = (await runRollback("")).split("\n")
  expect(lines[0]).toBe("Snapshots of /w, newest first:")
  expect(lines[1]).toMatch(/^1\. aaaaaaaa {2}.* terminal make {2}\(2 files, \+3 -1\)$/u)
  expect(lines[2]).toMatch(/^2\. bbbbbbbb {2}.* write_file x$/u)
})

test("restoring all files also undoes the last turn; restoring one file does not", async () => {
  const calls: unknown[] = []
  expect(await runRollback("2", {}, calls)).toBe(
    [
      "Restored bbbbbbbb: x, y (removed).",
      "Your last message and everything after it were removed from the conversation.",
      "To undo this: /rollback cccccccc",
    ].join("\n"),
  )
  expect(await runRollback("1 my file.txt", {}, calls)).not.toContain("Your last message")
  expect(calls).toEqual([["restore", oldest.hash, undefined], ["undo"], ["restore", newest.hash, "my file.txt"]])
})

test.each([
  ["000001", ["restore", newest.hash, undefined]],
  ["bbbbbbbb", ["restore", "bbbbbbbb", undefined]],
  ["CCCC my file.txt", ["restore", "cccc", "my file.txt"]],
  ["diff 1234 x", ["diff", "1234", "x"]],
  ["diff 12345678", ["diff", "12345678", undefined]],
])("/rollback %s selects by number, or else by hash", async (argument, call) => {
  const calls: unknown[] = []
  await runRollback(argument, {}, calls)
  expect(calls[0]).toEqual(call)
})

test("replaces control characters in a diff", async () => {
  expect(await runRollback("diff 1 x")).toBe("-a\n+?[31mb\n1 file changed since aaaaaaaa.")
})

test.each([
  ["9", "There is no snapshot 9; /rollback lists 2."],
  ["1 missing", "The checkpoint does not contain missing."],
  ["999", "There is no snapshot 999; /rollback lists 2."],
  ["back", USAGE],
  ["diff", USAGE],
  ["abc", USAGE],
])("/rollback %s explains the mistake", async (argument, text) => {
  expect(await runRollback(argument)).toBe(text)
})

test("explains why there are no snapshots", async () => {
  const none = { root: () => "/w", list: () => Promise.resolve([]) }
  expect(await runRollback("1", { checkpoints: none })).toContain("There are no snapshots of /w yet")
  expect(await runRollback("", { checkpoints: none, enabled: false })).toContain(
    "hermes config set checkpoints.enabled true",
  )
  expect(await runRollback("", { checkpoints: undefined })).toBe(
    "There are no snapshots here, because the files are not on this machine.",
  )
})
