import { randomInt } from "node:crypto"

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"

import { persistedOutput } from "../../../src/toolkit/result-budget.ts"
import { assembleApp } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { openHands, processesRunning, QUIET } from "./hands.ts"
import type { Hands } from "./hands.ts"

/** Where the suite is run. */
export interface Place {
  readonly name: string
  /** Why it cannot be tested here; the tests are then skipped. */
  readonly missing: string | undefined
  /** Starts what the place is made of, and says how Hermes is told to work there. */
  readonly prepare: () => Promise<PreparedPlace>
}

export interface PreparedPlace {
  readonly config: string
  readonly env: Readonly<Record<string, string>>
  readonly release: () => Promise<void>
}

const SECRETS = {
  OPENAI_API_KEY: "sk-test-4f9c2b7ad1e83f605c21",
  GITHUB_TOKEN: "ghp_0123456789abcdefghijABCDEFGHIJ012345",
  ACME_PASSWORD: "correct-horse-battery-staple",
}
const HOME_SECRET = "whsec-9d2e11c0a7f4"

/** The whole product with its hands in one place: what the model can do there, and what it gets to read. */
export function testHands(place: Place): void {
  const title = place.missing === undefined ? place.name : `${place.name} (skipped: ${place.missing})`
  describe.skipIf(place.missing !== undefined)(title, () => {
    let prepared: PreparedPlace
    let house: AssembledApp
    let hands: Hands
    let root: string
    beforeAll(async () => {
      prepared = await place.prepare()
      house = await assembleApp([], {
        config: `${QUIET}tool_output:\n  max_bytes: 400000\n${prepared.config}`,
        env: { ...SECRETS, ...prepared.env },
        files: { ".env": `HOOK_SECRET=${HOME_SECRET}\n` },
      })
      hands = await openHands(house)
      root = String((await hands.fields("terminal", { command: "pwd" }))["output"])
    })
    afterAll(async () => {
      expect(house.model.unanswered).toEqual([])
      await house[Symbol.asyncDispose]()
      await prepared.release()
    })
    // One session, because opening a place takes its time; each test goes to a directory of its own.
    let count = 0
    beforeEach(async () => {
      const directory = `${root}/case-${(count += 1)}`
      await hands.fields("terminal", { command: `mkdir ${directory} && cd ${directory}` })
    })

    test("files: written, read by lines, edited by replacing, found", async () => {
      const written = await hands.fields("write_file", { path: "src/a.txt", content: "one\ntwo\nthree — ä\n" })
      expect(written).toMatchObject({ bytes_written: 21, dirs_created: true })
      expect(await hands.fields("read_file", { path: "src/a.txt", offset: 2, limit: 1 })).toMatchObject({
        content: "2|two",
        total_lines: 3,
      })
      const patched = await hands.fields("patch", { path: "src/a.txt", old_string: "two", new_string: "TWO" })
      expect(patched).toMatchObject({ success: true, diff: expect.stringContaining("-two\n+TWO\n") })
      expect(await hands.fields("terminal", { command: "cat src/a.txt; stat -c %a src/a.txt" })).toMatchObject({
        output: "one\nTWO\nthree — ä\n644",
      })
      expect(await hands.fields("search_files", { pattern: "T[WV]O" })).toMatchObject({
        total_count: 1,
        matches: [{ path: "src/a.txt", line: 2, content: "TWO" }],
      })
      expect(await hands.fields("search_files", { pattern: "*.txt", target: "files" })).toMatchObject({
        total_count: 1,
        files: ["src/a.txt"],
      })
    })

    test("files: several at once, all or nothing", async () => {
      await hands.fields("terminal", {
        command: "printf 'old\\n' >a; printf 'gone\\n' >b; printf 'kept\\n' >c; chmod 750 a",
      })
      const patch = [
        "*** Begin Patch",
        "*** Update File: a",
        "-old",
        "+new",
        "*** Add File: deep/d",
        "+added",
        "*** Delete File: b",
        "*** Move File: c -> deep/e",
        "*** End Patch",
      ].join("\n")
      const wrong = await hands.fields("patch", { mode: "patch", patch: patch.replace("-old", "-other") })
      expect(wrong["error"]).toContain("no files were modified")
      expect(await hands.fields("terminal", { command: "cat a b c; ls -d deep" })).toMatchObject({
        output: expect.stringMatching(/^old\ngone\nkept\nls: /u),
      })
      expect(await hands.fields("patch", { mode: "patch", patch })).toMatchObject({ success: true })
      expect(
        await hands.fields("terminal", { command: "cat a deep/d deep/e; find . -type f | sort; stat -c %a a" }),
      ).toMatchObject({ output: "new\nadded\nkept\n./a\n./deep/d\n./deep/e\n750" })
    })

    test("files: what is not there, is a directory or was changed by somebody else is answered", async () => {
      await hands.fields("terminal", { command: "mkdir folder; printf '1\\n' >notes.txt" })
      expect((await hands.fields("read_file", { path: "note.txt" }))["error"]).toContain("not found")
      expect((await hands.fields("read_file", { path: "folder" }))["error"]).toContain("is a directory")
      expect((await hands.fields("write_file", { path: "folder", content: "x" }))["error"]).toContain("directory")
      expect((await hands.fields("write_file", { path: "notes.txt/x", content: "x" }))["error"]).toContain(
        "not a directory",
      )
      await hands.fields("read_file", { path: "notes.txt" })
      await hands.fields("terminal", {
        command: "printf 'changed\\n' >notes.txt; touch -d '2001-01-01 00:00' notes.txt",
      })
      const stale = await hands.call("write_file", { path: "notes.txt", content: "mine\n" })
      expect(stale.text).toMatch(/changed|modified/u)
    })

    test("terminal: directory, variables and functions go from one call to the next", async () => {
      await hands.fields("terminal", { command: "mkdir -p in/side && cd in/side" })
      await hands.fields("terminal", { command: "export WHO=world; greet() { echo hello $WHO; }" })
      const { output, exit_code: code } = await hands.fields("terminal", { command: "greet; basename $PWD; exit 3" })
      expect([output, code]).toEqual(["hello world\nside", 3])
      await hands.fields("write_file", { path: "here", content: "x" })
      expect(await hands.fields("terminal", { command: "cat here; greet" })).toMatchObject({ output: "xhello world" })
    })

    test("terminal: a time-out keeps what was said and leaves nothing alive", async () => {
      const mark = `sleep ${randomInt(10_000_000, 99_999_999)}`
      await hands.fields("write_file", {
        path: "stray",
        content: `(${mark} & wait) & setsid ${mark} & echo said; wait`,
      })
      const answer = await hands.fields("terminal", { command: "sh stray", timeout: 1 })
      expect(answer).toEqual({ output: "said\n[Command timed out after 1s]", exit_code: 124, error: null })
      expect(processesRunning(mark)).toEqual([])
      expect(await hands.fields("terminal", { command: "echo on" })).toMatchObject({ output: "on", exit_code: 0 })
    })

    test("process: one in the background has a log, is waited for, and is killed with all it started", async () => {
      const { session_id: first } = await hands.fields("terminal", {
        command: "for n in 1 2 3; do echo line $n; done; while [ ! -e go ]; do sleep 0.05; done; echo over; exit 4",
        background: true,
      })
      expect((await hands.fields("process", { action: "poll", session_id: first }))["status"]).toBe("running")
      await hands.fields("write_file", { path: "go", content: "" })
      expect(await hands.fields("process", { action: "wait", session_id: first, timeout: 20 })).toMatchObject({
        status: "exited",
        exit_code: 4,
      })
      expect(await hands.fields("process", { action: "log", session_id: first, offset: 1, limit: 2 })).toMatchObject({
        output: "line 2\nline 3",
        total_lines: 4,
      })
      const mark = `sleep ${randomInt(10_000_000, 99_999_999)}`
      const { session_id: second } = await hands.fields("terminal", {
        command: `echo up; setsid ${mark} & ${mark}`,
        background: true,
      })
      await waitUntil(() => processesRunning(mark).length === 2)
      expect((await hands.fields("process", { action: "kill", session_id: second }))["status"]).toBe("killed")
      expect(processesRunning(mark)).toEqual([])
      const { processes } = await hands.fields("process", { action: "list" })
      expect(processes).toMatchObject([
        { session_id: first, status: "exited" },
        { session_id: second, status: "exited" },
      ])
    })

    test("a result of 300,000 characters is kept in a file there, and read_file reads it", async () => {
      const line = "0123456789".repeat(9) + "abcdefghi"
      const { text } = await hands.call("terminal", { command: `yes ${line} | head -3000; echo the end` })
      const path = /^All of it is in (.+)$/mu.exec(text)?.[1] ?? ""
      const whole = `output:\n${`${line}\n`.repeat(3000)}the end\nexit_code: 0\nerror: null`
      expect(text).toBe(persistedOutput(whole, { path, previewChars: 1500 }))
      expect(await hands.fields("terminal", { command: `wc -c <${path}` })).toMatchObject({
        output: expect.stringMatching(new RegExp(`^\\s*${whole.length}$`, "u")),
      })
      expect(await hands.fields("read_file", { path, offset: 3001, limit: 2 })).toMatchObject({
        content: `3001|${line}\n3002|the end`,
        total_lines: 3004,
      })
    })

    test("what is protected and what counts as the workspace is judged over there", async () => {
      const keys = await hands.fields("write_file", { path: "~/.ssh/hermes-test", content: "x" })
      expect(keys["error"]).toContain("holds credentials or settings of the account")
      await using careful = await openHands(house, { permissionProfile: "accept-edits", attended: false })
      expect(await careful.fields("write_file", { path: "inside", content: "x" })).toMatchObject({ bytes_written: 1 })
      const outside = await careful.fields("write_file", { path: "/opt/hermes-test/outside", content: "x" })
      expect(outside["error"]).toContain("it writes outside the workspace")
    })

    test("no command sees a secret of ours", async () => {
      const foreground = await hands.call("terminal", {
        command: "env; cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n'",
      })
      const { session_id: id } = await hands.fields("terminal", { command: "env", background: true })
      const background = await hands.call("process", { action: "wait", session_id: id, timeout: 20 })
      expect(background.fields["output"]).toContain("PATH=")
      for (const name of [...Object.keys(SECRETS), "HOOK_SECRET"]) {
        expect([name, foreground.text.includes(name), background.text.includes(name)]).toEqual([name, false, false])
      }
    })
  })
}

/** A process starts when the system pleases. */
async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
