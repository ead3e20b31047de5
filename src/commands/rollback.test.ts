import { expect, test } from "vitest"

import { fail, ok } from "../base/result.ts"
import type { ConversationChange, RollbackReport, RollbackRequest } from "../app/session/rollback.ts"
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
  readonly conversation?: ConversationChange
  readonly report?: Partial<RollbackReport>
  readonly added?: readonly string[]
  readonly confirm?: (question: string) => Promise<boolean>
}

const REMOVED = { kind: "removed", text: "plant\nbeans" }

/** Runs `/rollback`; `calls` records what it does. */
async function runRollback(argument: string, setup: Setup = {}, calls: unknown[] = []): Promise<string> {
  const checkpoints = {
    root: () => "/w",
    otherRoots: () => [],
    list: () => Promise.resolve([newest, oldest]),
    diff: (hash: string, { file }: { readonly file?: string }) => {
      calls.push(["diff", hash, file])
      return Promise.resolve(
        ok({ text: "-a\n+\u001B[31mb\r\n", truncated: false, files: ["x"], added: setup.added ?? [] }),
      )
    },
  }
  const context = {
    signal: new AbortController().signal,
    ...(setup.confirm === undefined ? {} : { confirm: setup.confirm }),
    app: { config: { get: () => setup.enabled ?? true } },
    session: {
      checkpoints: () => Promise.resolve("checkpoints" in setup ? setup.checkpoints : checkpoints),
      rollBack: ({ hash, file }: RollbackRequest) => {
        calls.push(["restore", hash, file])
        if (file === "missing") return Promise.resolve(fail("the checkpoint does not contain missing"))
        const report = { written: ["x"], removed: ["y"], notRestored: [], kept: [], undoHash: "c".repeat(40) }
        const conversation = file === undefined ? (setup.conversation ?? REMOVED) : { kind: "unaffected" }
        return Promise.resolve(ok({ ...report, snapshot: oldest, conversation, ...setup.report }))
      },
    },
  } as unknown as SlashContext
  const outcome = await rollbackCommand.run(argument, context)
  return outcome.kind === "reply" ? outcome.text : outcome.kind
}

test("lists the snapshots with their numbers", async () => {
  const lines = (await runRollback("")).split("\n")
  expect(lines[0]).toBe("Snapshots of /w, newest first:")
  // The counts of a snapshot are what changed before it, so they belong to the row of the snapshot before.
  expect(lines[1]).toMatch(/^1\. aaaaaaaa {2}.* terminal make {2}\(1 file\)$/u)
  expect(lines[2]).toMatch(/^2\. bbbbbbbb {2}.* write_file x {2}\(2 files, \+3 -1\)$/u)
})

test("asks before it removes files that are newer than the snapshot", async () => {
  const calls: unknown[] = []
  const questions: string[] = []
  const asking = (answer: boolean) => ({
    added: ["mine.txt", "new\u001B[2J"],
    confirm: (question: string) => {
      questions.push(question)
      return Promise.resolve(answer)
    },
  })
  expect(await runRollback("2", asking(false), calls)).toBe("Nothing was changed.")
  expect(calls).toEqual([["diff", oldest.hash, undefined]])
  expect(questions).toEqual(["This removes 2 files that are newer than the snapshot: mine.txt, new?[2J. Continue?"])
  expect(await runRollback("2", asking(true), calls)).toContain("Restored bbbbbbbb")
  expect(await runRollback("2", { ...asking(false), added: [] })).toContain("Restored bbbbbbbb")
})

test("says which messages a restore removed; restoring one file removes none", async () => {
  const calls: unknown[] = []
  expect(await runRollback("2", {}, calls)).toBe(
    [
      "Restored bbbbbbbb: x, y (removed).",
      'Your message "plant beans" and everything after it were removed from the conversation.',
      "To undo this: /rollback cccccccc",
    ].join("\n"),
  )
  expect(await runRollback("1 my file.txt", {}, calls)).not.toContain("conversation")
  expect(calls).toEqual([
    ["restore", oldest.hash, undefined],
    ["restore", newest.hash, "my file.txt"],
  ])
})

test.each<[ConversationChange["kind"] & ("restore-undone" | "unrecorded" | "compressed" | "nothing"), string]>([
  ["restore-undone", "this undid a restore"],
  ["unrecorded", "an older version took this snapshot"],
  ["compressed", "is part of a summary now"],
  ["nothing", "was removed from it before, or belongs to another conversation"],
])("says why the conversation did not change: %s", async (kind, text) => {
  const shown = await runRollback("1", { conversation: { kind } })
  expect(shown).toContain("The conversation did not change: ")
  expect(shown).toContain(text)
})

test("names files that a restore left as they are", async () => {
  const kept = [{ path: "dump.sql", why: "created since; too large for a snapshot" }]
  expect(await runRollback("1", { report: { kept } })).toContain(
    "Not covered by snapshots, left as they are: dump.sql (created since; too large for a snapshot).",
  )
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
    "There are no snapshots here, because the files are not on this machine. Use git there to undo changes.",
  )
})
