import { expect, test } from "vitest"

import { fail, ok } from "../base/result.ts"
import { rollbackCommand } from "./rollback.ts"
import type { RollbackAccess } from "./rollback.ts"
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
  "Use /rollback, /rollback diff N [FILE], /rollback N or /rollback N FILE; instead of the number N the hash of a snapshot will do."
const oldest = { ...newest, hash: "b".repeat(40), short: "bbbbbbbb", reason: "write_file x", filesChanged: 0 }

async function said(argument: string, more: Partial<RollbackAccess> = {}, calls: unknown[] = []): Promise<string> {
  const access: RollbackAccess = {
    enabled: true,
    checkpoints: {
      root: () => "/w",
      others: () => [],
      list: () => Promise.resolve([newest, oldest]),
      diff: (hash, { file }) => {
        calls.push(["diff", hash, file])
        return Promise.resolve(ok({ text: "-a\n+\u001B[31mb\r\n", truncated: false, files: ["x"] }))
      },
      restore: (hash, { file }) => {
        calls.push(["restore", hash, file])
        if (file === "missing") return Promise.resolve(fail("that checkpoint has no missing"))
        return Promise.resolve(ok({ written: ["x"], removed: ["y"], kept: [], before: "c".repeat(40) }))
      },
    },
    dropLastTurn: () => {
      calls.push(["drop"])
      return Promise.resolve(true)
    },
    ...more,
  }
  const context = { signal: new AbortController().signal } as SlashContext
  const outcome = await rollbackCommand(() => Promise.resolve(access)).run(argument, context)
  return outcome.kind === "say" ? outcome.text : outcome.kind
}

test("lists the snapshots with their numbers", async () => {
  const lines = (await said("")).split("\n")
  expect(lines[0]).toBe("Snapshots of /w, newest first:")
  expect(lines[1]).toMatch(/^1\. aaaaaaaa {2}.* terminal make {2}\(2 files, \+3 -1\)$/u)
  expect(lines[2]).toMatch(/^2\. bbbbbbbb {2}.* write_file x$/u)
})

test("goes back as a whole and takes the last turn out; one file leaves the conversation alone", async () => {
  const calls: unknown[] = []
  expect(await said("2", {}, calls)).toBe(
    [
      "Back at bbbbbbbb: x, y (removed).",
      "Your last message and what followed it were taken out of the conversation.",
      "To undo this: /rollback cccccccc",
    ].join("\n"),
  )
  expect(await said("1 my file.txt", {}, calls)).not.toContain("Your last message")
  expect(calls).toEqual([["restore", oldest.hash, undefined], ["drop"], ["restore", newest.hash, "my file.txt"]])
})

test.each([
  ["000001", ["restore", newest.hash, undefined]],
  ["bbbbbbbb", ["restore", "bbbbbbbb", undefined]],
  ["CCCC my file.txt", ["restore", "cccc", "my file.txt"]],
  ["diff 1234 x", ["diff", "1234", "x"]],
  ["diff 12345678", ["diff", "12345678", undefined]],
])("/rollback %s takes a number of the list, else a hash", async (argument, call) => {
  const calls: unknown[] = []
  await said(argument, {}, calls)
  expect(calls[0]).toEqual(call)
})

test("shows what changed, without letting the file drive the terminal", async () => {
  expect(await said("diff 1 x")).toBe("-a\n+?[31mb\n1 file changed since aaaaaaaa.")
})

test.each([
  ["9", "There is no snapshot 9; /rollback lists 2."],
  ["1 missing", "That checkpoint has no missing."],
  ["999", "There is no snapshot 999; /rollback lists 2."],
  ["back", USAGE],
  ["diff", USAGE],
  ["abc", USAGE],
])("/rollback %s is answered", async (argument, text) => {
  expect(await said(argument)).toBe(text)
})

test("without snapshots it says why", async () => {
  const none: RollbackAccess["checkpoints"] = {
    root: () => "/w",
    others: () => [],
    list: () => Promise.resolve([]),
    diff: () => Promise.resolve(fail("")),
    restore: () => Promise.resolve(fail("")),
  }
  expect(await said("1", { checkpoints: none })).toContain("There are no snapshots of /w yet")
  expect(await said("", { checkpoints: none, enabled: false })).toContain("hermes config set checkpoints.enabled true")
  const nowhere = await rollbackCommand(() => Promise.resolve(undefined)).run("", {} as SlashContext)
  expect(nowhere).toEqual({ kind: "say", text: "There are no snapshots here: the files are not on this machine." })
})
